"""Commands that run Purser and look after it."""
