"""Approvals: what waits for a person, and the person's decision."""
