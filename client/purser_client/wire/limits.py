"""Bounds of the values that the HTTP API takes, which the rules of the budget keep too. Standard library only."""

MAX_AMOUNT = 2**53 - 1
"""Largest token or nano-dollar amount: exact in every JSON reader, and far below what a balance can hold."""
MAX_CALL_TOKENS = 10**9
"""Most tokens that one call may ask for, hold or report: far more than any context window."""
MAX_CALL_NANO_USD = 10**15
"""Most nano-dollars of one call: a million dollars."""
MAX_LEASE_MS = 24 * 3_600_000
MAX_KEY = 256
MAX_PATH = 16
"""Most scopes in one path, not counting tenant and user: bounds the rows that one hold locks."""
MAX_TAGS = 10
"""Most tags of one call: bounds the rows that one hold locks."""
MAX_BATCH = 100
"""Most holds of one request."""
MAX_POLICIES = 10_000
"""Most policies in one document."""
MAX_DECISION_ID = 256
MAX_NOTE = 2_000
MAX_TICKET_URL = 2_000
MAX_PLANNED_TOOLS = 10_000
USUAL_MODEL = "gpt-4o"
"""Model whose tokenizer counts if no model is named."""
