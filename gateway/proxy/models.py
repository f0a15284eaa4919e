"""The models that the proxy calls, as clients of OpenAI and Anthropic list them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from purser.budget.errors import InvalidRequest
from purser.budget.pricing.price_book import PriceBook
from purser.gateway.proxy.verdicts import Denial

_EPOCH = "1970-01-01T00:00:00Z"
"""Prices do not say when a model was released."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with a price and a way to it."""

    name: str
    provider: str

    def to_openai(self) -> dict[str, Any]:
        """The model in the words of OpenAI."""
        return {"id": self.name, "object": "model", "created": 0, "owned_by": self.provider}

    def to_anthropic(self) -> dict[str, Any]:
        """The model in the words of Anthropic."""
        return {"type": "model", "id": self.name, "display_name": self.name, "created_at": _EPOCH}


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What this gateway can call."""

    prices: PriceBook
    providers: frozenset[str]
    """Providers that are allowed and have a key."""
    own_servers: bool
    """Whether requests may name an `api_base`, where models have names of their own."""

    def all(self) -> list[KnownModel]:
        """Every model, by name."""
        found = (self.find(name) for name in self.prices.names())
        return sorted((model for model in found if model), key=lambda model: model.name)

    def find(self, name: str) -> KnownModel | None:
        """The model of a name; `None` if it has no price, or no way leads to it."""
        provider = self.prices.provider(name)
        reached = provider in self.providers or (not provider and self.own_servers)
        if not reached or self.prices.find(name) is None:
            return None
        return KnownModel(name, provider or "purser")


def page_of(models: Sequence[KnownModel], limit: int, after: str | None, before: str | None) -> dict[str, Any]:
    """One page in the words of Anthropic. Raises `InvalidRequest` if `after` or `before` is not listed."""
    names = [model.name for model in models]
    for stated in (after, before):
        if stated is not None and stated not in names:
            raise InvalidRequest(f"model {stated[:80]!r} is not listed: take the ids of a page for the next one")
    first = names.index(after) + 1 if after is not None else 0
    last = names.index(before) if before is not None else len(names)
    if before is not None and after is None:
        first = max(first, last - limit)
    page = models[first : min(last, first + limit)]
    return {
        "data": [model.to_anthropic() for model in page],
        "has_more": first > 0 if before is not None and after is None else first + len(page) < last,
        "first_id": page[0].name if page else None,
        "last_id": page[-1].name if page else None,
    }


def unknown(name: str) -> Denial:
    """The answer for a model that is not listed."""
    message = (
        f"Model {name[:80]!r} is not known here: it has no price, or its provider has no key or is not allowed. "
        "List the models, or set PURSER_ALLOWED_PROVIDERS and PURSER_PRICE_FILE."
    )
    return Denial(404, "model_not_found", message)
