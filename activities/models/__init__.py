"""Model providers: where requests go, how they leave, and what comes back."""
