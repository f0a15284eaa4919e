"""Replays the calls of the ledger's history under other policies."""
