"""Reads the ledger: entries, usage, burn rates, replays and reconciliations."""
