"""The dashboard: live pages for the people on call, in the gateway's own process."""
