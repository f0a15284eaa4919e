"""The processes: gateway, worker, and `purser up`, which is both."""
