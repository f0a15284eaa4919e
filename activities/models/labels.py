"""Labels of metrics with open values, bounded: the first values keep their names, further ones share `other`."""

MOST_VALUES = 40
"""Most values of one label in one process."""
OTHER = "other"


class Labels:
    """The values of the labels of one process."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}

    def known(self, kind: str, value: str) -> str:
        """The value itself, or `other` if this kind of label already has too many."""
        seen = self._seen.setdefault(kind, set())
        if value not in seen and len(seen) >= MOST_VALUES:
            return OTHER
        seen.add(value)
        return value
