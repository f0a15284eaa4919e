"""The page of keys: the list, new keys, and their end."""
