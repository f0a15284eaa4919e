"""Compaction benchmarks: evidence retained, size, broken tool pairs, and facts left after repeated compression."""
