"""Caches of what was used recently. Keys of texts are digests: the texts themselves are not stored."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from hashlib import blake2b
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Remembers the most recently used values by key. Thread-safe."""

    def __init__(self, most: int) -> None:
        """Args:
        most: maximum number of values.
        """
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Returns the value of a key; `None`: it has none, or was used too long ago."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Remembers the value of a key."""
        with self._lock:
            self._values[key] = value
            if len(self._values) > self._most:
                self._values.popitem(last=False)


def digest_of(text: str) -> bytes:
    """The key of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
