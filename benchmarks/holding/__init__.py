"""Benchmark of holds: calls of recorded conversations as parallel agents on one limited budget."""
