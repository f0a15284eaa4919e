"""Postgres stores of sessions: windows, preferences, retention and overviews."""
