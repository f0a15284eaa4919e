"""Conversations: messages, pins, preferences and retention."""
