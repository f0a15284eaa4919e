"""Summaries: which part of a conversation they cover, how they are made, and how good they are."""
