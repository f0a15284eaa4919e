"""The page of webhooks: the list, new ones, and their deliveries."""
