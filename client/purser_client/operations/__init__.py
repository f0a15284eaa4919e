"""The endpoints of the HTTP API: what each sends, and what it answers."""
