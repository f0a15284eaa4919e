"""Compression: choosing the range a summary covers, writing the summary and scoring its fidelity."""
