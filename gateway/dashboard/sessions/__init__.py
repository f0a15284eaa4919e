"""The pages of sessions: the list, and one session with its compressions, pins, facts and messages."""
