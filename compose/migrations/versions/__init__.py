"""Revisions in order; never edited once released."""
