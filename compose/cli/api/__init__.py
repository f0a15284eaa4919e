"""Commands that talk to a running gateway."""
