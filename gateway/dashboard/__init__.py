"""The dashboard: live pages for operators and approvers, served by the gateway process."""
