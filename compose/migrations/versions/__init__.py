"""Schema revisions in order; a released revision is never edited."""
