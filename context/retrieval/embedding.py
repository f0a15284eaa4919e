"""Vectors of texts, as memory takes them."""

from collections.abc import Sequence
from typing import Protocol

from budget.scopes import Path


class Embedder(Protocol):
    """Turns texts into vectors; where it cannot, memory goes on by words."""

    @property
    def model(self) -> str:
        """Names the vectors: those of another model are not compared with them."""
        ...

    async def embed(
        self, tenant: str, key: str, path: Path, texts: Sequence[str]
    ) -> tuple[tuple[float, ...], ...] | None:
        """One vector per text, all of one length.

        Args:
            tenant, key, path: of the hold that pays for them.
            texts: none empty; redacted by the embedder before they leave.

        Returns:
            `None` where the budget refuses or no answer comes.
        """
        ...
