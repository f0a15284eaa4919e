"""The processes: gateway, worker, and `purser up`, which runs both."""
