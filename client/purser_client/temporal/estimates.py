"""What an activity may use, from its arguments, and what it has used, from its result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from purser_client.counting import cautious
from purser_client.errors import UnknownUsage
from purser_client.usage import Streamed, is_empty, plain, usage_of

_MODELS = ("model", "model_name", "model_id")
_LIMITS = ("max_output_tokens", "max_completion_tokens", "max_tokens")
_DEEPEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The most that the model call of an activity may use."""

    input_tokens: int | None = None
    """Tokens of the input; if left out, `messages` and `tools` are counted."""
    messages: Sequence[Any] | None = None
    """What is sent; if left out, the arguments of the activity: their images, and everything else as JSON."""
    tools: Sequence[Any] = ()
    """Tools that are offered with it."""
    max_output_tokens: int = 4_096
    """The most that the reply may have. The activity has to pass it to the provider: the plugin cannot."""
    model: str | None = None
    """Whose price the money follows."""
    nano_usd: int | None = None
    """The most that the call may cost, instead of a price."""


Estimating: TypeAlias = Callable[[Sequence[Any]], Estimate]
"""Estimates from the arguments of an activity. The same arguments have to give the same estimate in every attempt."""
Reading: TypeAlias = Callable[[Any], object]
"""Reads the usage from the result of an activity: a reply or usage block of any provider."""


def plain_estimate(args: Sequence[Any]) -> Estimate:
    """Counts the arguments, see `messages`; finds the model and the limit of the reply by their usual names."""
    fields = dict(_fields(list(args), _DEEPEST))
    model = next((fields[name] for name in _MODELS if isinstance(fields.get(name), str)), None)
    limits = [fields[name] for name in _LIMITS if isinstance(fields.get(name), int) and fields[name] > 0]
    return Estimate(model=model, max_output_tokens=limits[0]) if limits else Estimate(model=model)


def reported(result: Any) -> dict[str, Any]:
    """The usage of a result, or of the chunks of a stream that an activity returns; raises `UnknownUsage`."""
    usage = _of_chunks(result) if isinstance(result, list) else usage_of(result)
    if is_empty(usage):
        raise UnknownUsage("the provider has reported no usage")
    return usage


def _of_chunks(chunks: list[Any]) -> dict[str, Any]:
    streamed = Streamed(cautious)
    for chunk in chunks:
        streamed.add(chunk)
    if streamed.usage is None:
        raise UnknownUsage("no chunk of the result reports the usage: pass usage= to the plugin")
    return streamed.usage


def _fields(value: Any, deep: int) -> Iterator[tuple[str, Any]]:
    """Fields of objects in objects; those further out come last, so that a dictionary keeps them."""
    value = plain(value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    if deep:
        for one in inner:
            yield from _fields(one, deep - 1)
    if isinstance(value, Mapping):
        yield from ((str(name), one) for name, one in value.items())
