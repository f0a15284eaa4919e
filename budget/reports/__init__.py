"""What people and programs read of the ledger."""
