"""The overview: spending over time, what runs out, and what waits."""
