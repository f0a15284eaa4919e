"""Built-in detectors of personal data and secrets, one subject a file."""
