"""What runs activities: their registration, stores and settings, safe failures, metrics, and background tasks."""
