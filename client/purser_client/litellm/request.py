"""What a request of LiteLLM asks, and what it may ask under a hold."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from litellm.types.utils import CallTypes

HELD: Mapping[CallTypes, tuple[str, ...]] = MappingProxyType(
    {
        CallTypes.acompletion: ("max_completion_tokens", "max_tokens"),
        CallTypes.atext_completion: ("max_tokens",),
        CallTypes.aresponses: ("max_output_tokens",),
        CallTypes.aembedding: (),
    }
)
"""Kinds of calls that can be held, and how each limits its reply; the last name is the one to set."""


class _NoRetries(int):
    """0, as which LiteLLM reads no 0: for embeddings that means 2 to it."""

    def __bool__(self) -> bool:
        return True


def model_of(request: Mapping[str, Any]) -> str | None:
    """The name of the model, by which calls are priced."""
    name: str | None = request.get("model") or request["litellm_logging_obj"].model
    return name


def messages_of(request: Mapping[str, Any]) -> list[Any]:
    """The conversation, or what is to be completed or embedded, also where the caller has passed it by position."""
    named = (request.get(name) for name in ("messages", "input", "prompt"))
    said = next((each for each in named if isinstance(each, (str, list, tuple)) and each), None)
    said = said or request["litellm_logging_obj"].messages
    instructions = request.get("instructions")
    return [*([instructions] if instructions else ()), *([said] if isinstance(said, str) else said)]


def tools_of(request: Mapping[str, Any]) -> list[Any]:
    """Tools, and the form of the output."""
    forms = (request.get(name) for name in ("response_format", "text_format", "text"))
    written = [form.model_json_schema() if hasattr(form, "model_json_schema") else form for form in forms if form]
    return [*(request.get("tools") or ()), *(request.get("functions") or ()), *written]


def limit_of(request: Mapping[str, Any], kind: CallTypes) -> int | None:
    """The most that its replies may have in sum, if the request says. A hold has at least one token of output."""
    if not HELD[kind]:
        return 1
    limit = next((request[name] for name in HELD[kind] if request.get(name) is not None), None)
    return None if limit is None else limit * _replies(request)


def held(request: Mapping[str, Any], kind: CallTypes, max_tokens: int) -> dict[str, Any]:
    """What the hold covers: one request, with replies of this size at most in sum, whose usage is reported."""
    if not HELD[kind]:
        return {**request, "max_retries": _NoRetries()}
    named = [name for name in HELD[kind] if request.get(name) is not None] or HELD[kind][-1:]
    changed = {**request, **dict.fromkeys(named, max(1, max_tokens // _replies(request)))}
    # LiteLLM would send the request to another model without asking a callback.
    changed.pop("context_window_fallback_dict", None)
    if "num_retries" in request or not _routed(request):
        # LiteLLM would repeat the request without asking a callback. Those of a Router pass each as a call.
        changed |= {"num_retries": 0, "retry_policy": None}
    if kind is not CallTypes.aresponses and request.get("stream") and request.get("stream_options") is None:
        changed["stream_options"] = {"include_usage": True}
    return changed


def _replies(request: Mapping[str, Any]) -> int:
    """How many replies the provider writes, each up to the limit."""
    return max(request.get("n") or 1, request.get("best_of") or 1)


def _routed(request: Mapping[str, Any]) -> bool:
    """Whether a Router has sent it."""
    return any("model_group" in (request.get(name) or {}) for name in ("metadata", "litellm_metadata"))
