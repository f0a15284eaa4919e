"""Requests in the format of Anthropic's Messages API, converted to that of OpenAI's chat API by LiteLLM."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from purser.activities.models.litellm_library import litellm_library

_ADAPTERS = "litellm.llms.anthropic.pass_through.adapters.transformation"


def as_chat(body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Converts a request. The first call imports LiteLLM, which takes seconds.

    Args:
        body: a request with `model` and `messages`.

    Returns:
        The request in the format of OpenAI, and the names of tools that had to be shortened, by their short names.

    Raises:
        ValueError: a message or tool is malformed. The message names no content.
    """
    litellm_library()
    adapter = import_module(_ADAPTERS).LiteLLMAnthropicMessagesAdapter()
    try:
        request, names = adapter.translate_anthropic_to_openai(dict(body))
    except Exception as error:  # it expects what Anthropic accepts, and fails in many ways on anything else
        raise ValueError(f"not a request of the Messages API ({type(error).__name__})") from None
    return dict(request), names
