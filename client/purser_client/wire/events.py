"""Headers of the stream of events."""

POSITION = "Purser-Last-Event-Id"
"""The position at which a stream begins, as a client sends it in `Last-Event-ID`: one that breaks off before its first
event loses nothing."""
