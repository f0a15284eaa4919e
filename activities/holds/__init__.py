"""Activities that hold, settle and release, for workflows of others too."""
