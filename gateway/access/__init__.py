"""Who calls and what they may do: keys, roles, browser sessions, signing in."""
