"""The page of budgets: limits and spending of every scope, and changes to them."""
