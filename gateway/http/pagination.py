"""Pagination of lists."""

import base64
import re
from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, TypeAdapter, WithJsonSchema

from purser.budget.errors import InvalidRequest
from purser.wire.fields import Time

CHANGED = "pass the cursor of the previous page unchanged"


def _of_form(pattern: str) -> tuple[AfterValidator, WithJsonSchema]:
    """What refuses a cursor that is not as `pattern` says, and states it in the OpenAPI document."""

    def check(cursor: str) -> str:
        if re.fullmatch(pattern, cursor) is None:
            raise ValueError(CHANGED)
        return cursor

    return AfterValidator(check), WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


_PREVIOUS = "Cursor of the previous page."
Cursor = Annotated[Annotated[str, *_of_form("[0-9]{1,18}")] | None, Query(description=_PREVIOUS)]
# A name has at most 256 characters, each of at most 4 bytes; up to two times are in front of it.
NameCursor = Annotated[Annotated[str, *_of_form("[A-Za-z0-9_-]{0,2048}")] | None, Query(description=_PREVIOUS)]
"""Cursor of a list that is ordered by name, or by time and name."""
IdCursor = Annotated[Annotated[str, *_of_form("[A-Za-z0-9-]{1,64}")] | None, Query(description=_PREVIOUS)]
"""Cursor of a list whose page ends with an id."""
PageSize = Annotated[int, Query(ge=1, le=1_000, description="Most items on a page.")]


_TIME: TypeAdapter[datetime] = TypeAdapter(Time)


def name_cursor(*times: datetime, name: str) -> str:
    """The cursor of a page that ended with `name`, with the times that the next page needs."""
    text = " ".join([*(at.isoformat() for at in times), name])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def name_after(cursor: str, times: int) -> tuple[list[datetime], str]:
    """The times of a cursor and the name after which a page begins; raises `InvalidRequest`."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        *found, name = text.split(" ", times)
        if len(found) != times or "\0" in name:
            raise ValueError
        return [_TIME.validate_python(at) for at in found], name
    except ValueError:
        raise InvalidRequest(f"cursor is not valid: {CHANGED}") from None
