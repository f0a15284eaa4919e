"""The benchmark of scale: what its model says, and one short run on real parts."""

import asyncio

import pytest

from purser.benchmarks.scale import Line, Part, fit, line_of, measure


def line(factor: str, value: int, callers_us: int, postgres_us: int) -> Line:
    return Line(factor, value, 1, 1.0, 1.0, 1.0, callers_us, postgres_us)


def test_the_model_adds_what_each_tenfold_value_costs_and_takes_nothing_off() -> None:
    grows = [line("history", 10**tens, 100, 200 + 30 * tens) for tens in range(3)]
    falls = [line("sessions", 10**tens, 100 - 10 * tens, 200) for tens in range(3)]
    model = fit([*grows, *falls])
    assert (model.callers_us, model.postgres_us) == (100, 200)
    assert model.at(history=1_000, sessions=1_000) == pytest.approx((100, 290))


def test_a_line_counts_the_backends_of_each_database_once() -> None:
    # Every process sees the backends of all processes of its database.
    databases = [[Part([0.001], 2.0, 0.1, 0.3), Part([0.003], 2.0, 0.1, 0.2)], [Part([0.002, 0.002], 2.0, 0.2, 0.5)]]
    found = line_of("databases", 2, databases)
    assert (found.pairs, found.pairs_per_s) == (4, 2.0)
    assert (found.callers_us, found.postgres_us) == (100_000, 200_000)


@pytest.mark.proof
@pytest.mark.stack
def test_a_short_run_measures_each_value_and_its_sums_agree() -> None:
    factors = {"processes": (1, 2), "databases": (1, 2)}
    found = asyncio.run(measure(0.2, factors)).results
    assert all(found["gate"].values()), found
    assert [(one["factor"], one["value"]) for one in found["lines"]] == [
        (factor, value) for factor, values in factors.items() for value in values
    ]
    assert all(one["pairs"] for one in found["lines"])
    # Of all lines together: the system counts processor time in hundredths of a second, and one line may take less.
    assert sum(one["callers_us"] for one in found["lines"]) > 0
    assert sum(one["postgres_us"] for one in found["lines"]) > 0
