"""What may be spent: scopes, policies, decisions, usage, prices, approvals, and the ledger."""
