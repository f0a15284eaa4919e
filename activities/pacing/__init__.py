"""The pace of requests to providers."""
