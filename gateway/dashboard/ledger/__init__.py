"""The page of the ledger: usage, and entries with their holds."""
