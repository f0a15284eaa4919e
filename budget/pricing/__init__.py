"""Prices of models, and what a call costs."""
