"""`/v1/budgets`."""
