"""What a request of LiteLLM asks, and what it may ask under a hold."""

from collections.abc import Mapping
from typing import Any

from litellm.types.utils import CallTypes

HELD = frozenset((CallTypes.acompletion, CallTypes.aembedding))
"""Kinds of calls that can be held."""
_LIMITS = ("max_completion_tokens", "max_tokens")


class _NoRetries(int):
    """0, as which LiteLLM reads no 0: for embeddings that means 2 to it."""

    def __bool__(self) -> bool:
        return True


def model_of(request: Mapping[str, Any]) -> str | None:
    """The name of the model, by which calls are priced."""
    name: str | None = request.get("model") or request["litellm_logging_obj"].model
    return name


def messages_of(request: Mapping[str, Any]) -> list[Any] | str:
    """The conversation, or what is to be embedded, also where the caller has passed it by position."""
    said = request.get("messages") or request.get("input") or request["litellm_logging_obj"].messages
    return said if isinstance(said, str) else list(said)


def tools_of(request: Mapping[str, Any]) -> list[Any]:
    """Tools, and the form of the output."""
    form: Any = request.get("response_format")
    forms = [form.model_json_schema() if hasattr(form, "model_json_schema") else form] if form else []
    return [*(request.get("tools") or ()), *(request.get("functions") or ()), *forms]


def limit_of(request: Mapping[str, Any], kind: CallTypes) -> int | None:
    """The most that the reply may have, if the request says. A hold has at least one token of output."""
    if kind is CallTypes.aembedding:
        return 1
    return next((request[name] for name in _LIMITS if request.get(name) is not None), None)


def held(request: Mapping[str, Any], kind: CallTypes, max_tokens: int) -> dict[str, Any]:
    """What the hold covers: one request, with a reply of this size at most, whose usage is reported."""
    if kind is CallTypes.aembedding:
        return {**request, "max_retries": _NoRetries()}
    named = [name for name in _LIMITS if request.get(name) is not None] or ["max_tokens"]
    changed = {**request, **dict.fromkeys(named, max_tokens)}
    if "num_retries" in request or not _routed(request):
        # LiteLLM would repeat the request without asking a callback. Those of a Router pass each as a call.
        changed |= {"num_retries": 0, "retry_policy": None}
    if request.get("stream") and request.get("stream_options") is None:
        changed["stream_options"] = {"include_usage": True}
    return changed


def _routed(request: Mapping[str, Any]) -> bool:
    """Whether a Router has sent it."""
    return "model_group" in (request.get("metadata") or {})
