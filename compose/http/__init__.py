"""Serving HTTP: the server, its protocol, its limits of connections."""
