"""Lists come in pages."""

from typing import Annotated, Any

from fastapi import Query

from gateway.views import View

Cursor = Annotated[str | None, Query(pattern="^[0-9]{1,18}$", description="Where the last page ended.")]
PageSize = Annotated[int, Query(ge=1, le=1_000, description="Most items of a page.")]


class Page(View):
    """A part of a list."""

    items: list[dict[str, Any]]
    cursor: str | None
    """Pass it as `cursor` for the next part; `null` at the end."""
