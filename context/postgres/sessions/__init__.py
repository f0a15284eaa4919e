"""Sessions in Postgres: their windows, preferences, retention."""
