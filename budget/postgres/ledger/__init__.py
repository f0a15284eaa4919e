"""The ledger: holds, attempts, settlements, policies."""
