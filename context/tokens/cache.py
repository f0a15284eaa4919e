"""Cache of token counts."""

from collections.abc import Callable

from purser.context.recent import Recent, digest_of


class CountCache(Recent[tuple[str, bytes], int]):
    """Caches the most recently used counts."""

    def count(self, kind: str, text: str, count: Callable[[str], int]) -> int:
        """Returns the cached count of a text, or calls `count` once per `kind` and text."""
        key = kind, digest_of(text)
        if (tokens := self.get(key)) is None:
            tokens = count(text)
            self.put(key, tokens)
        return tokens
