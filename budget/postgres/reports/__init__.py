"""Reading the ledger: entries, usage, audits, burn rates."""
