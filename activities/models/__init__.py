"""Model providers: routes of requests, the transport that sends them, and the reading of answers."""
