"""Shows that the ledger is whole: checkpoints of its entries, and an audit of everything that follows from them."""
