"""Chart of a session's page, and URL parameters of the list: pure functions."""

from datetime import UTC, datetime, timedelta

from purser.context.compression.summaries import Method, Summary
from purser.context.postgres.conversation.summaries import StoredSummary
from purser.context.postgres.sessions.overviews import GrowthPoint
from purser.gateway.dashboard.sessions.charts import history, spreads_over_time
from purser.gateway.dashboard.sessions.list import Wanted

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_compression_makes_the_history_of_a_window_drop() -> None:
    grown = [GrowthPoint(seq, at(seq), seq, seq * 100) for seq in (1, 2, 3, 4)]
    made = Summary(1, 1, 2, "", Method.MODEL, "k", 200, 30, "d")
    shown = history(grown, [StoredSummary("", made, at(3.5))])
    assert [(point.seq, point.tokens) for point in shown] == [
        (1, 100),
        (2, 200),
        (3, 300),
        (3, 300),
        (3, 130),
        (4, 230),
    ]


def test_an_imported_conversation_does_not_spread_over_time() -> None:
    assert not spreads_over_time([GrowthPoint(seq, at(seq / 100), seq, seq) for seq in range(90)])
    assert spreads_over_time([GrowthPoint(seq, at(seq), seq, seq) for seq in range(9)])


def test_parameters_of_the_list_are_parsed_and_invalid_ones_ignored() -> None:
    assert Wanted.read("q", "2026-01-01T12:00:00+00:00~~s~1") == Wanted("q", (NOW, "s~1"))
    for bad in ("yesterday~~s", "2026-01-01T12:00:00~~s", "2026", "~~"):
        assert Wanted.read("", bad) == Wanted()
