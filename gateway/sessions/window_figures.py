"""Figures of a strategy as query parameters of a window."""

from typing import Annotated

from fastapi import Depends, Query

from purser.context.figures import MOST, Figures

Count = Annotated[int | None, Query(ge=0, le=MOST)]
Positive = Annotated[int | None, Query(ge=1, le=MOST)]
Ratio = Annotated[float | None, Query(gt=0, le=1, allow_inf_nan=False)]


async def _figures(
    primers_count: Count = None,
    recents_count: Count = None,
    recents_only: bool | None = None,
    batch_count: Positive = None,
    rounds: Positive = None,
    rounds_by_size: Annotated[str | None, Query(description="For example `51:4,30:6,15:8`.", max_length=500)] = None,
    summary_by_rounds: bool | None = None,
    history_window_size: Positive = None,
    min_messages: Count = None,
    trigger_ratio: Ratio = None,
    keep_ratio: Ratio = None,
    reply_reserve: Count = None,
    keeps_first_request: bool | None = None,
    order: Annotated[str | None, Query(description="All parts, with commas.", max_length=500)] = None,
    summary_ratio: Ratio = None,
    summary_min_tokens: Positive = None,
    summary_max_tokens: Positive = None,
    summary_header: Annotated[str | None, Query(max_length=200)] = None,
) -> Figures:
    """Figures as in `context` of a task file; those of the session, its user and the settings apply for others."""
    return Figures.read(locals())


WindowFigures = Annotated[Figures, Depends(_figures)]
