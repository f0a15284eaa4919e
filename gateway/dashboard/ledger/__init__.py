"""The ledger: usage, and its entries with the holds behind them."""
