"""Bodies of requests to models: what is read, what is passed on, and what is refused."""

from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from purser.activities.models.names import check_model_name
from purser.budget.errors import InvalidRequest
from purser.gateway.http.bodies import read_json
from purser.wire.limits import MAX_CALL_TOKENS
from purser.wire.storable import unstorable_at

MAX_MESSAGES = 10_000
MAX_TOOLS = 512
MAX_TEXTS = 2_048
_NEVER = {"api_base", "api_key", "api_version", "base_url", "custom_llm_provider", "extra_headers", "timeout"}
"""Parameters of LiteLLM that would change where a request goes, and with which key."""
Cap = Annotated[int, Field(ge=1, le=MAX_CALL_TOKENS)]
Objects = list[dict[str, Any]]
Model = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(check_model_name)]
B = TypeVar("B", bound=BaseModel)


class PassedOn(BaseModel):
    """Parameters that go to the provider unchanged. What their types do not allow would only fail there."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    parallel_tool_calls: bool | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = None


def options_of(passed_on: type[BaseModel], body: BaseModel) -> dict[str, Any]:
    """The parameters of a body that a class names, without those that are not given."""
    return {name: value for name in passed_on.model_fields if (value := getattr(body, name)) is not None}


def read_body(body: type[B], content: bytes, known: set[str]) -> B:
    """Reads a body.

    Args:
        body: the part that the proxy itself reads.
        content: the JSON.
        known: names of all parameters that are accepted.

    Raises:
        RequestValidationError: it is not JSON.
        InvalidRequest: it is no such request; names the field, never its value.
    """
    value = read_json(content)
    if not isinstance(value, dict):
        raise InvalidRequest("the body is not a JSON object: send an object with model")
    if (at := unstorable_at(value)) is not None:
        raise InvalidRequest(f"{_shown(at) or 'the body'} contains NUL or half of a surrogate pair: remove it")
    if unknown := sorted(set(value) - known):
        remedy = "remove it: the gateway sets it" if unknown[0] in _NEVER else "remove it, or correct its name"
        raise InvalidRequest(f"parameter {unknown[0][:80]!r} is not passed on: {remedy}")
    try:
        return body.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        places = [_place(one["loc"], value) for one in found]
        # Of the alternatives of a type, the one that fits best fails deepest.
        deepest = max(places, key=len)
        wanted = dict.fromkeys(one["msg"][:200].lower() for one, at in zip(found, places, strict=True) if at == deepest)
        raise InvalidRequest(f"{_shown(deepest)} is not valid: {', or '.join(wanted)}") from None


def _place(location: Iterable[int | str], body: Any) -> list[int | str]:
    """The place of an error in a body, without the alternatives of its type, which pydantic names too."""
    first, *rest = location
    place, value = [first], body.get(first)
    for part in rest:
        if part in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
            place.append(part)
            value = value[part]
    return place


def _shown(place: Iterable[int | str]) -> str:
    return ".".join(str(part)[:80] for part in place)
