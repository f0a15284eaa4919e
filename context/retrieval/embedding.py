"""Interface of embedders, and the outcome of a search."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from purser.budget.scopes import Path

Vector = tuple[float, ...]


class Embedder(Protocol):
    """Turns texts into vectors; if it fails, memory falls back to words."""

    @property
    def model(self) -> str:
        """Name of the embedding model. Vectors of different models are never compared; messages are embedded again."""
        ...

    async def embed(self, tenant: str, path: Path, texts: Sequence[str]) -> Sequence[Vector] | None:
        """Computes one vector per text, all of the same length.

        Args:
            tenant, path: tenant and budget path that pay.
            texts: non-blank texts; the embedder redacts them before they leave the process.

        Returns:
            The vectors, or `None` if the budget refuses or no answer arrives in time.
        """
        ...


class Outcome(StrEnum):
    """Outcome of a search."""

    WORDS = "words"
    """Searched by words, as configured."""
    FUSED = "fused"
    """Searched by words and vectors."""
    NO_VECTORS = "no_vectors"
    """Searched by words alone, because the embedder returned no vectors."""
    NO_EXTENSION = "no_extension"
    """Searched by words alone, because the database was migrated without the extension `vector`."""
