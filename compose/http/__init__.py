"""The HTTP server: startup and shutdown, protocol, connection limits."""
