"""Extracts: the units that a summary quotes, chosen by what they say and by what came of them."""
