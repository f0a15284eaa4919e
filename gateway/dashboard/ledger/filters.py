"""Filters of the ledger: parsed from the URL, and the form that edits them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Self

from markupsafe import Markup

from purser.budget.errors import InvalidScope
from purser.budget.reports.entries import EntryKind
from purser.budget.reports.usage import By
from purser.budget.scopes import Kind, Scope
from purser.budget.texts import number_of
from purser.budget.windows import zone
from purser.gateway.dashboard.amounts import WHENEVER, TimeRange, plain_text
from purser.gateway.dashboard.components import render
from purser.gateway.dashboard.formats import address, sentence, words
from purser.gateway.reports.usage import default_start


@dataclass(frozen=True, slots=True)
class Wanted:
    """The entries that a page shows, and how its usage is grouped."""

    scope: Scope | None = None
    kind: EntryKind | None = None
    task: str | None = None
    times: TimeRange = WHENEVER
    cursor: str | None = None
    by: By = By.MODEL
    faults: tuple[str, ...] = ()
    """Messages about parameters that are not valid."""
    typed: str = ""
    """A scope that is not valid, shown again for correction."""

    @classmethod
    def read(cls, **given: str) -> Self:
        """Parses the parameters of the URL; those that are not valid are reported in `faults` and ignored."""
        faults: list[str] = []
        scope = _scope(given["scope"], Scope.parse, faults)
        task = _scope(given["task"], partial(Scope, Kind.TASK), faults)
        times = TimeRange.read(given["since"], given["until"])
        faults += times.faults
        cursor = given["cursor"]
        return cls(
            scope=scope,
            kind=EntryKind(given["kind"]) if given["kind"] in tuple(EntryKind) else None,
            task=task.id if task else None,
            times=times,
            cursor=cursor if number_of(cursor) is not None else None,
            by=By(given["by"]) if given["by"] in tuple(By) else By.MODEL,
            faults=tuple(faults),
            typed="" if scope else plain_text(given["scope"], 300),
        )

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        """Start and end of the usage, as in a report of the API in UTC."""
        until = self.times.until or now
        return self.times.since or default_start(until, self.by, zone("UTC")), until

    @property
    def within(self) -> tuple[Scope, ...]:
        """The scopes to which entries and usage must belong."""
        task = Scope(Kind.TASK, self.task) if self.task else None
        return tuple(dict.fromkeys(scope for scope in (self.scope, task) if scope))

    @property
    def filters(self) -> dict[str, Any]:
        """The filters as arguments of `Entries.list`."""
        names = {name: getattr(self, name) for name in ("scope", "kind", "task", "cursor")}
        return names | {"since": self.times.since, "until": self.times.until}

    def href(self, path: str = "/ledger", **more: object) -> str:
        """A URL with the same filters that starts with the newest entry."""
        given: dict[str, object] = {
            "scope": self.scope,
            "kind": self.kind,
            "task": self.task,
            **self.times.query,
            "by": None if self.by is By.MODEL else self.by,
        }
        return address(path, **(given | more))

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return any((self.scope, self.kind, self.task, self.times.since, self.times.until))


def _scope(text: str, parse: Callable[[str], Scope], faults: list[str]) -> Scope | None:
    try:
        return parse(text.strip()) if text.strip() else None
    except InvalidScope as error:
        faults.append(sentence(str(error)))
        return None


def filters(wanted: Wanted) -> Markup:
    """The form of the filters."""
    kinds = [("", "any"), *((kind, words(kind)) for kind in EntryKind)]
    return render("ledger/filters.html", wanted=wanted, kinds=kinds)
