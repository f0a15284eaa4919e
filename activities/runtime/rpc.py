"""Requests to Temporal's server."""

from datetime import timedelta

RPC_TIMEOUT = timedelta(seconds=5)
"""Longest wait for its answer."""
