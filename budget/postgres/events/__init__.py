"""Events and the outbox."""
