"""LRU cache of token counts by digest of the text; the texts themselves are not stored."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b


class CountCache:
    """Caches the most recently used counts. Thread-safe."""

    def __init__(self, most: int) -> None:
        """Args:
        most: maximum number of cached counts.
        """
        self._most = most
        self._counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, kind: str, text: str, count: Callable[[str], int]) -> int:
        """Returns the cached count of a text, or calls `count` once per `kind` and text."""
        key = kind, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._counts:
                self._counts.move_to_end(key)
                return self._counts[key]
        # Not under the lock: counting may take some tenths of a second.
        tokens = count(text)
        with self._lock:
            self._counts[key] = tokens
            if len(self._counts) > self._most:
                self._counts.popitem(last=False)
        return tokens
