"""Durable orchestration: what happens next, and nothing else."""
