"""`/v1/approvals`."""
