"""Counts of texts that were counted before, by the digest of the text: the texts themselves are not kept."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b


class CountCache:
    """Keeps the counts that were used last. Threads may share it."""

    def __init__(self, most: int) -> None:
        """Args:
        most: counts that are kept.
        """
        self._most = most
        self._counts: OrderedDict[tuple[str, bytes], int] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, kind: str, text: str, count: Callable[[str], int]) -> int:
        """What `count` says of the text; it is asked once for each `kind` and text."""
        key = kind, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._counts:
                self._counts.move_to_end(key)
                return self._counts[key]
        # Not under the lock: it may take some tenths of a second.
        tokens = count(text)
        with self._lock:
            self._counts[key] = tokens
            if len(self._counts) > self._most:
                self._counts.popitem(last=False)
        return tokens
