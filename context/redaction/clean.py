"""Texts that are known to contain nothing to redact, by digest; the texts themselves are not stored."""

import threading
from collections import OrderedDict
from hashlib import blake2b

from purser.context.redaction.redactor import Redactor


class CleanTexts:
    """Spares the search of texts in which nothing was found before, by the same detectors. Thread-safe."""

    def __init__(self, most: int = 50_000) -> None:
        """Args:
        most: maximum number of texts, of which the most recently used are remembered.
        """
        self._most = most
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def redact(self, redactor: Redactor, text: str) -> str:
        """`Redactor.redact`, or the text itself if it is known to be clean."""
        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return text
        redacted = redactor.redact(text)
        if redacted == text:
            with self._lock:
                self._known[key] = None
                if len(self._known) > self._most:
                    self._known.popitem(last=False)
        return redacted
