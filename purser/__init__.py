"""Budgets for multi-agent LLM work. The folders beside this file are links to those at the top of the repository."""
