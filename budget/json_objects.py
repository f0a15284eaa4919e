"""Objects of JSON: no name may occur twice in one, of which `json.loads` would silently take the last."""

from collections import Counter
from typing import Any

from purser.budget.errors import InvalidRequest


def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The `object_pairs_hook` of `json.loads`: returns the object; raises `InvalidRequest`, naming a repeated name."""
    read = dict(pairs)
    if len(read) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidRequest(f"{name[:80]!r} occurs twice in one object: state it once")
    return read
