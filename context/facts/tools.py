"""Facts of tool results: the fields of a JSON object, keyed by its id."""

import json
from collections.abc import Iterator
from itertools import islice

from purser.context.conversation.storable import storable
from purser.context.facts.languages import languages_of
from purser.context.facts.patterns import values
from purser.context.facts.values import REACHES, Kind

_LONGEST_VALUE = 80
"""Maximum characters of a field's value; a longer one is a text."""
_MOST_FIELDS = 60
"""Maximum fields of one tool result; a larger result is a listing."""
Field = tuple[str, str, Kind, str]


def fields_of(text: str) -> list[Field] | None:
    """Subject, path below it, kind and text of the fields of an object; none if it is a listing.

    The subject is the id of the object that has the field, or around it; empty if there is none.

    Returns:
        `None` if the text is no JSON.
    """
    try:
        value = storable(json.loads(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return []
    found = list(islice(_fields(value, "", ""), _MOST_FIELDS + 1))
    return found if len(found) <= _MOST_FIELDS else []


def _fields(value: object, subject: str, path: str) -> Iterator[Field]:
    if isinstance(value, dict):
        own = next((str(item) for key, item in value.items() if key.endswith(("_id", "id")) and _is_scalar(item)), None)
        if own is None and not subject:
            # An id by another name, as in `"order": "A-1001"`, tells objects apart where nothing else does.
            own = next((item for item in value.values() if _is_id(item)), None)
        for key, item in value.items():
            below = key if own else ".".join(filter(None, (path, key)))
            yield from _fields(item, own or subject, below)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _fields(item, subject, f"{path}.{index}")
    elif _is_scalar(value) and str(value) and len(str(value)) <= _LONGEST_VALUE and str(value) != subject:
        content = value if isinstance(value, str) else json.dumps(value)
        yield subject, path, _kind(content), content


def _kind(content: str) -> Kind:
    found = values(content, languages_of(content))
    return next((kind for kind, match in found if match[0] == content), Kind.FIELD)


def _is_id(value: object) -> bool:
    if not isinstance(value, str) or len(value) > _LONGEST_VALUE:
        return False
    return _kind(value) is Kind.ID and not REACHES.search(value)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool)
