"""CSV export of ledger entries."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime

from purser.budget.reports.entries import Entry

CSV = "text/csv"
PARTS = ("spent", "held", "granted", "overrun")
UNITS = ("tokens", "nano_usd")
COLUMNS = (
    "entry_id", "at", "scope", "window_start", "seq", "kind", "hold_id", "attempt", "ref",
    *(f"moved_{part}_{unit}" for unit in UNITS for part in PARTS),
    *(f"{part}_{unit}" for unit in UNITS for part in PARTS),
    "limit_tokens", "limit_nano_usd", "mode", "key", "path", "task_id", "model", "rolling",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Prefixes by which spreadsheets recognize formulas."""

Cell = str | int | None


def csv_lines(rows: Iterable[Sequence[Cell]]) -> bytes:
    """Rows as CSV (RFC 4180). Text that a spreadsheet would read as a formula is prefixed with an apostrophe."""
    text = io.StringIO()
    csv.writer(text).writerows([[_harmless(cell) for cell in row] for row in rows])
    return text.getvalue().encode()


def csv_row(entry: Entry) -> list[Cell]:
    """One entry, in the order of `COLUMNS`."""
    moved, after = (
        [getattr(getattr(figures, part), unit) for unit in UNITS for part in PARTS]
        for figures in (entry.moved, entry.after)
    )
    return [
        entry.entry_id, _iso(entry.at), str(entry.scope), _iso(entry.window_start), entry.seq, str(entry.kind),
        entry.hold_id, entry.attempt, entry.ref, *moved, *after, entry.limit_tokens, entry.limit_nano_usd,
        str(entry.mode), entry.key, " > ".join(entry.path), entry.task_id, entry.model,
        entry.rolling,
    ]  # fmt: skip


def _harmless(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
