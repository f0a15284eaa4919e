"""Policies: their fields, how the field of a scope is resolved, templates and sets of policies."""
