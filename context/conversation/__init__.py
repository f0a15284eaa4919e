"""Messages of a conversation and what belongs to it: pins, preferences, retention."""
