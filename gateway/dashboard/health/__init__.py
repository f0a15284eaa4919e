"""Health: whether everything that Purser needs is there, and whether the ledger is right."""
