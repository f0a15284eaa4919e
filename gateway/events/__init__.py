"""`/v1/events`."""
