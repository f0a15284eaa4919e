"""`/v1/sessions`, `/v1/users` and `/v1/retention`."""
