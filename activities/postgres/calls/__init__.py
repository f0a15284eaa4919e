"""Stores of model calls: what they ask for, what replies need, and the pace of requests."""
