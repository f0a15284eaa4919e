"""Vectors of texts, as memory takes them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from purser.budget.scopes import Path

Vector = tuple[float, ...]


class Embedder(Protocol):
    """Turns texts into vectors; where it cannot, memory goes on by words."""

    @property
    def model(self) -> str:
        """Names the vectors: those of another model are made anew, never compared."""
        ...

    async def embed(self, tenant: str, path: Path, texts: Sequence[str]) -> Sequence[Vector] | None:
        """One vector per text, all of one length.

        Args:
            tenant, path: whose budget pays for it.
            texts: none blank. What must not leave is taken out of them first.

        Returns:
            `None` where the budget refuses or no answer comes in time.
        """
        ...


class Outcome(StrEnum):
    """How a search went."""

    WORDS = "words"
    """By words, as configured."""
    FUSED = "fused"
    """By words and vectors."""
    NO_VECTORS = "no_vectors"
    """By words alone, because the embedder gave none."""
    NO_EXTENSION = "no_extension"
    """By words alone, because the database was migrated without the extension `vector`."""
