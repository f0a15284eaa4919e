"""What a request of LiteLLM asks, and what it may ask under a hold."""

from collections.abc import Mapping
from typing import Any

_LIMITS = ("max_completion_tokens", "max_tokens")


def model_of(request: Mapping[str, Any]) -> str | None:
    """The name of the model, by which calls are priced."""
    name: str | None = request.get("model") or request["litellm_logging_obj"].model
    return name


def messages_of(request: Mapping[str, Any]) -> list[Any]:
    """The conversation, also where the caller has passed it by position."""
    return list(request.get("messages") or request["litellm_logging_obj"].messages)


def tools_of(request: Mapping[str, Any]) -> list[Any]:
    """Tools, and the form of the output."""
    form: Any = request.get("response_format")
    forms = [form.model_json_schema() if hasattr(form, "model_json_schema") else form] if form else []
    return [*(request.get("tools") or ()), *(request.get("functions") or ()), *forms]


def limit_of(request: Mapping[str, Any]) -> int | None:
    """The most that the reply may have, if the request says."""
    return next((request[name] for name in _LIMITS if request.get(name) is not None), None)


def held(request: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
    """What the hold covers: one request, with a reply of this size at most, whose usage is reported."""
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
