"""Commands that run and maintain Purser."""
