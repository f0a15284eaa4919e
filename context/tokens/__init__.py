"""Token counting: exact where the model's vocabulary is known, with a stated margin elsewhere.

Rule: texts (contents, and the name of each tool call followed by its arguments) + images + 4 per message + 3 per
conversation, plus the tool definitions of a request. The first available method counts: LiteLLM if loaded, tiktoken, or
a formula by script. LiteLLM and tiktoken give equal counts, so a stored count does not depend on which of them counted.
"""

from purser.context.tokens.counting import (
    PER_CONVERSATION,
    PER_MESSAGE,
    Count,
    Method,
    count_async,
    count_message,
    count_request,
    count_text,
)
from purser.context.tokens.exact import warm_up
from purser.context.tokens.legacy import legacy_estimate
from purser.context.tokens.tokenizers import Tokenizer, tokenizer_of
from purser.context.tokens.windows import window_of

__all__ = [
    "PER_CONVERSATION",
    "PER_MESSAGE",
    "Count",
    "Method",
    "Tokenizer",
    "count_async",
    "count_message",
    "count_request",
    "count_text",
    "legacy_estimate",
    "tokenizer_of",
    "warm_up",
    "window_of",
]
