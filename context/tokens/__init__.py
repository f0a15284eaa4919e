"""Counting tokens before they are spent: exactly where the model's vocabulary is known, with a stated margin elsewhere.

The rule: texts (contents, and of each tool call its name followed by its arguments) + images + 4 per message + 3 per
conversation, and the tool definitions of a request. The first that can counts: LiteLLM where it is loaded, tiktoken, a
formula by script. LiteLLM and tiktoken give the same figures, so a stored count does not depend on who it was.
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
from purser.context.tokens.messages import message_digest
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
    "message_digest",
    "tokenizer_of",
    "warm_up",
    "window_of",
]
