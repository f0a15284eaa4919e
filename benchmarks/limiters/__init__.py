"""Ways to limit model calls: Purser's, and peers'.

Modules of peers run in environments that have the peer and none of Purser's dependencies, and print their figures.
"""
