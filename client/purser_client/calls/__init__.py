"""One call of a model under a hold: what it asks, what it is allowed, and how it ends."""
