"""What leaves for a provider and what comes back: addresses and keys, connections, requests, and bounded answers."""
