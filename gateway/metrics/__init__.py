"""Prometheus metrics of the gateway and of the ledger."""
