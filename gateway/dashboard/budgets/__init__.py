"""Budgets: what every scope may spend and has spent, and changes to it."""
