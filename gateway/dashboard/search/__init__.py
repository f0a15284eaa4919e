"""One search over tasks, sessions, scopes, approvals, users and keys."""
