"""Pagination of lists."""

import base64
import binascii
from typing import Annotated

from fastapi import Query

from purser.budget.errors import InvalidRequest

Cursor = Annotated[str | None, Query(pattern="^[0-9]{1,18}$", description="Cursor of the previous page.")]
# A name has at most 256 characters, each of at most 4 bytes; the cursor of calls has a time in front of it.
NameCursor = Annotated[str | None, Query(pattern="^[A-Za-z0-9_-]{0,2048}$", description="Cursor of the previous page.")]
"""Cursor of a list that is ordered by name."""
PageSize = Annotated[int, Query(ge=1, le=1_000, description="Most items on a page.")]


def name_cursor(name: str | None) -> str | None:
    """The cursor of a page that ended with `name`."""
    return None if name is None else base64.urlsafe_b64encode(name.encode()).decode().rstrip("=")


def name_after(cursor: str | None) -> str | None:
    """The name after which a page begins; raises `InvalidRequest`."""
    if cursor is None:
        return None
    try:
        name = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        name = "\0"
    if "\0" in name:
        raise InvalidRequest("cursor is not valid: pass the cursor of the previous page unchanged")
    return name
