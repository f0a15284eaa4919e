"""Sums over the beginning of a thread, for windows that do not read all of its messages."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

import asyncpg

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.context.conversation.conversations import Figures
from purser.context.tokens.tokenizers import Tokenizer

_SQL = load("purser.context.postgres.conversation", "references.sql")
STEP = 512
"""Sequence numbers between two cached sums."""
MOST_THREADS = 1_000
"""Threads whose sums are cached."""


class RunningFigures:
    """Sums over the messages of threads up to a sequence number; sums at every 512th number are cached.

    Messages never change, and appends to a session commit in the order of their numbers, so a cached sum stays right.
    """

    def __init__(self) -> None:
        self._steps: OrderedDict[tuple[str, ...], list[Figures]] = OrderedDict()

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
        steps = self._steps.setdefault((*place, tokenizer.key), [Figures()])
        self._steps.move_to_end((*place, tokenizer.key))
        if len(self._steps) > MOST_THREADS:
            self._steps.popitem(last=False)
        last, top = len(steps) - 1, wanted[-1] // STEP
        if top > last:
            rows = await own.fetch(_SQL["steps"], *place, *counted, last * STEP, top * STEP, STEP)
            _extend(steps, last, top, {row["step"]: _figures(row) for row in rows})
        rest = [seq for seq in wanted if seq % STEP]
        rows = await own.fetch(_SQL["rest"], *place, *counted, rest, [seq - seq % STEP for seq in rest]) if rest else []
        since = {row["upto"]: _figures(row) for row in rows}
        return {seq: steps[seq // STEP] + since.get(seq, Figures()) for seq in wanted}


def _extend(steps: list[Figures], last: int, top: int, added: dict[int, Figures]) -> None:
    """Adds sums up to `top` from the figures of single steps; another reader may have added some meanwhile."""
    sums: Sequence[Figures] = steps[: last + 1]
    found = [*sums]
    for step in range(last, top):
        found.append(found[-1] + added.get(step, Figures()))
    steps.extend(found[len(steps) :])


def _figures(row: asyncpg.Record) -> Figures:
    return Figures(row["messages"], row["dialogue"], row["tool_messages"], row["tokens"], row["characters"])
