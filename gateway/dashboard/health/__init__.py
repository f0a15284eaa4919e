"""The page of health: whether the parts of Purser respond, and whether the ledger is correct."""
