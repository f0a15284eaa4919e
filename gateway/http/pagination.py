"""Pagination of lists."""

import base64
import binascii
from typing import Annotated, Generic, TypeVar

from fastapi import Query
from pydantic import ConfigDict, Field

from purser.budget.errors import InvalidRequest
from purser.wire.base import View

Item = TypeVar("Item")

Cursor = Annotated[str | None, Query(pattern="^[0-9]{1,18}$", description="Cursor of the previous page.")]
NameCursor = Annotated[str | None, Query(pattern="^[A-Za-z0-9_-]{0,512}$", description="Cursor of the previous page.")]
"""Cursor of a list that is ordered by name."""
PageSize = Annotated[int, Query(ge=1, le=1_000, description="Most items on a page.")]


class PageOf(View, Generic[Item]):
    """A page of a list."""

    # pydantic would search all frames for the source of every `PageOf[…]`, which has none: a second each with pytest.
    model_config = ConfigDict(use_attribute_docstrings=False)

    items: list[Item]
    cursor: str | None = Field(description="Pass it as `cursor` for the next page; `null` at the end.")


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
