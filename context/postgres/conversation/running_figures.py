"""Sums over the beginning of a thread, for windows that do not read all of its messages."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import asyncpg

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.context.conversation.conversations import Figures
from purser.context.tokens.tokenizers import Tokenizer

_SQL = load("purser.context.postgres.conversation", "references.sql")
STEP = 512
"""Sequence numbers between two cached sums."""
MOST_POINTS = 64
"""Further sums of a thread that are cached: windows that follow one another ask for the same ones, or later ones."""
MOST_THREADS = 1_000
"""Threads whose sums are cached."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """Cached sums of one thread."""

    steps: list[Figures] = field(default_factory=lambda: [Figures()])
    """Sums up to every 512th sequence number, from 0."""
    points: dict[int, Figures] = field(default_factory=dict)
    """Sums up to other sequence numbers, the oldest first."""

    def known(self, seq: int) -> tuple[int, Figures]:
        """The newest cached sum up to a sequence number at most."""
        step = seq - seq % STEP
        nearest = max((one for one in self.points if step < one <= seq), default=step)
        return nearest, self.points[nearest] if nearest > step else self.steps[seq // STEP]

    def add(self, seq: int, found: Figures) -> None:
        """Caches a sum in place of the oldest one."""
        self.points[seq] = found
        if len(self.points) > MOST_POINTS:
            del self.points[next(iter(self.points))]


class RunningFigures:
    """Sums over the messages of threads up to a sequence number.

    Sums at every 512th number, and those that windows asked for last, are cached.

    Messages never change, and appends to a session commit in the order of their numbers, so a cached sum stays right.
    """

    def __init__(self) -> None:
        self._sums: OrderedDict[tuple[str, ...], _Sums] = OrderedDict()

    def mean_tokens(self, tenant: str, session_id: str, thread: str, tokenizer: Tokenizer) -> float | None:
        """Mean tokens of the messages of a thread, as far as its sums are cached; `None` if none is."""
        sums = self._sums.get((tenant, session_id, thread, tokenizer.key), _Sums())
        longest = max((sums.steps[-1], *sums.points.values()), key=lambda figures: figures.messages)
        return longest.tokens / longest.messages if longest.tokens else None

    async def upto(
        self,
        own: Connection,
        tenant: str,
        session_id: str,
        thread: str,
        tokenizer: Tokenizer,
        seqs: Iterable[int],
    ) -> dict[int, Figures]:
        """Sums over all messages up to each sequence number, itself included.

        Where a message is not yet counted for the tokenizer, its count for the vocabulary alone, with the margin, is
        used.
        """
        wanted = sorted({0, *seqs})
        place = (tenant, session_id, thread)
        counted = (tokenizer.key, tokenizer.vocabulary, 100 + tokenizer.margin)
        sums = self._sums.setdefault((*place, tokenizer.key), _Sums())
        self._sums.move_to_end((*place, tokenizer.key))
        if len(self._sums) > MOST_THREADS:
            self._sums.popitem(last=False)
        last, top = len(sums.steps) - 1, wanted[-1] // STEP
        if top > last:
            rows = await own.fetch(_SQL["steps"], *place, *counted, last * STEP, top * STEP, STEP)
            _extend(sums.steps, last, top, {row["step"]: _figures(row) for row in rows})
        known = {seq: sums.known(seq) for seq in wanted}
        rest = {seq: since for seq, (since, _) in known.items() if since < seq}
        rows = await own.fetch(_SQL["rest"], *place, *counted, list(rest), list(rest.values())) if rest else []
        added = {row["upto"]: _figures(row) for row in rows}
        found = {seq: figures + added[seq] if seq in added else figures for seq, (_, figures) in known.items()}
        for seq in rest:
            sums.add(seq, found[seq])
        return found


def _extend(steps: list[Figures], last: int, top: int, added: dict[int, Figures]) -> None:
    """Adds sums up to `top` from the figures of single steps; another reader may have added some meanwhile."""
    found = steps[: last + 1]
    for step in range(last, top):
        found.append(found[-1] + added.get(step, Figures()))
    steps.extend(found[len(steps) :])


def _figures(row: asyncpg.Record) -> Figures:
    return Figures(row["messages"], row["dialogue"], row["tool_messages"], row["tokens"], row["characters"])
