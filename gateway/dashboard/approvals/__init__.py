"""The page of approvals: pending and decided requests, and the form of a decision."""
