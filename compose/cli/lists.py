"""Lists of the API: pages as JSON, or as tables with a row for each item."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from purser.compose.cli.api.client import gateway
from purser.compose.cli.output import out, print_json
from purser.compose.cli.tables import complete_note, number, print_table, table, usd
from purser.compose.cli.tables import status as in_colour

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """How a column shows an item, in rich markup."""

    show: Callable[[Item], str]
    right: bool = False
    """Whether it is right-aligned, as figures are."""


def print_list(
    data: Path | None,
    path: str,
    query: Mapping[str, Any],
    shown: Mapping[str, Cell] | Callable[[Sequence[Item]], Table],
    *,
    whole: bool = False,
    as_json: bool,
) -> None:
    """Fetch one page of a list, or all, and print it.

    Args:
        data: data directory of an `up`.
        path: path of the list in the API.
        query: query parameters; those that are None are left out.
        shown: a cell for each column, or what builds the table.
        whole: print all pages, each as it arrives.
        as_json: print the page as it is; with `complete_after` if retention has deleted entries of its range.
    """
    with gateway(data) as api:
        for page in api.pages(path, **query) if whole else (api.page(path, **query),):
            if as_json:
                print_json(page)
            else:
                print_table(shown(page["items"]) if callable(shown) else _table(shown, page["items"]))
    if as_json:
        return
    if page.get("cursor") is not None:
        out.print("There are more: --all shows all of them.")
    if (after := page.get("complete_after")) is not None:
        out.print(complete_note(after), markup=False)


def text(field: str) -> Cell:
    """Show a field as text; a dash if it is empty. `a.b` names the field `b` within `a`."""
    return Cell(lambda item: escape(str(_field(item, field) or "-")))


def status(field: str) -> Cell:
    """Show a state in its colour."""
    return Cell(lambda item: in_colour(_field(item, field)))


def figure(field: str) -> Cell:
    """Show a count with separators."""
    return Cell(lambda item: number(_field(item, field)), right=True)


def change(field: str) -> Cell:
    """Show a count with its sign."""
    return Cell(lambda item: f"{_field(item, field):+,}", right=True)


def money(field: str) -> Cell:
    """Show nano-dollars as dollars."""
    return Cell(lambda item: usd(_field(item, field)), right=True)


def _table(cells: Mapping[str, Cell], items: Sequence[Item]) -> Table:
    rows = [[cell.show(item) for cell in cells.values()] for item in items]
    return table(*cells, rows=rows, right=[title for title, cell in cells.items() if cell.right])


def _field(item: Item, field: str) -> Any:
    return reduce(getitem, field.split("."), item)
