"""Requests for vectors and their answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from purser.budget.usage import Usage


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """One request for vectors."""

    model: str
    """Name of the model in LiteLLM."""
    texts: Sequence[str]
    request_id: str
    """`{hold_id}-{attempt}`, for the provider's log and Purser's."""
    api_base: str | None = None
    dimensions: int | None = None
    """Length of the vectors; `None`: the model's own. Omitted for models that have only one length."""
    tokens: int = 0
    """Tokens of the texts, for the pace of its provider."""


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The answer to a request for vectors."""

    vectors: tuple[tuple[float, ...], ...]
    """One for each text, in their order, all of the same length."""
    usage: Usage | None
    """Usage as the provider reported it; `None`: it reported none."""
