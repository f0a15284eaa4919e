"""Why agents of a task failed or were refused, and what to do about it."""

from collections.abc import Iterator, Mapping
from typing import Any

_FAILED = {
    "authentication": "No key is configured for the provider, or it did not accept the key. Set PURSER_PROVIDER_KEYS, "
    "or the provider's own variable such as OPENAI_API_KEY, where the worker runs, and start the worker again.",
    "permission": "The key may not use this model. Check its rights at the provider.",
    "payment": "The provider requires payment. Check the account at the provider.",
    "model_not_found": "The provider has no such model. Correct `model` in the task file.",
    "provider_not_allowed": "The worker calls no provider of this name at its own address. Correct `model` in the task "
    "file, check PURSER_ALLOWED_PROVIDERS, or name the address of an OpenAI-compatible server as `api_base`.",
    "address_not_allowed": "The model's address is not allowed. Add it to PURSER_ALLOWED_API_BASES.",
    "redirected": "The provider redirected the request elsewhere. Name its final address as `api_base`.",
    "request_not_built": "No request can be made for this model. Check `model` and `api_base` in the task file.",
    "bad_request": "The provider refused the request. Check model, tools and `max_output_tokens` in the task file.",
    "context_window": "The request is longer than the model's window. Use a larger model or a smaller input.",
    "rate_limited": "The provider had no capacity. Submit the task again later.",
    "server_error": "The provider failed. Submit the task again later.",
    "timeout": "The provider did not answer in time. Submit the task again later.",
    "unreachable": "The provider cannot be reached. Check `api_base` and the network of the worker.",
    "proxy_refused": "The proxy in PURSER_PROVIDER_PROXY let no request through. Check its address, user and rules.",
    "connection_broken": "The connection to the provider broke. Submit the task again later.",
    "incomplete_reply": "The provider's reply broke off every time. Submit the task again later.",
    "unreadable_reply": "The provider's reply is not a model's reply. Check `api_base`.",
    "reply_not_stored": "Replies were paid for and could not be stored. Check that the worker reaches Postgres.",
    "WindowTooSmall": "The required part of the window exceeds it. Use a larger model or a smaller input.",
}

_UNKNOWN = "The log of the worker says more."


def why(task: Mapping[str, Any]) -> Iterator[str]:
    """Explain each agent that failed or was refused, one line each.

    Args:
        task: in the shape of `GET /tasks/{id}`.
    """
    for agent_id, agent in task["agents"].items():
        reason = agent["reason"]
        if agent["status"] == "failed":
            shortfall = agent["shortfall"]["text"] if agent["shortfall"] else ""
            text = f"{shortfall[0].upper()}{shortfall[1:]}." if shortfall else _FAILED.get(reason, _UNKNOWN)
            yield f"{agent_id} failed: {reason or 'unknown'}. {text}"
        elif agent["status"] == "refused":
            refusal, scope = agent["refusal"], agent["scope"]
            text = refusal["text"] if refusal else f"{scope or 'no scope'}."
            remedy = refusal["remedy"] if refusal else f"See its budget: purser budget show {scope}"
            yield f"{agent_id} refused: {reason or 'unknown'}. {text} {remedy}"
