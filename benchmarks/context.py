"""Compaction benchmark: what survives in a window, in one pass and in the product that compresses as it goes.

Gates: through the product (append, compress, window), a quarter of the tokens retains 55 % of LoCoMo's evidence, and a
tenth retains nine tenths of what one pass retains; one pass, with and without facts, retains more than entity-dense and
rare-word selection of the same size, of LoCoMo and of BFCL's memory scenarios at both sizes, and of what later calls of
tau_airline need; no tool call loses its result; after ten compressions by a model that says nothing, all pins are left
and windows show half of the facts.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from purser.benchmarks.compaction import tools
from purser.benchmarks.compaction.conversations import MODEL, LabelledConversation
from purser.benchmarks.compaction.pairs import is_ours, pair_table, pairs
from purser.benchmarks.compaction.policies import SEED
from purser.benchmarks.compaction.product import rolled
from purser.benchmarks.compaction.ratios import ratio_table, ratios, to_json
from purser.benchmarks.compaction.repeats import BUDGET, COMPRESSIONS, PLANTED, Survivors, repeats, repeats_table
from purser.benchmarks.compaction.survival import (
    ENTITY_DENSE,
    OURS,
    OURS_WITH_FACTS,
    RARE_WORDS,
    SHARES,
    Survival,
    at,
    measured,
    survival,
    survival_table,
)
from purser.benchmarks.data import optional_rows, rows
from purser.benchmarks.outcome import Outcome
from purser.benchmarks.postgres import temporary_postgres
from purser.benchmarks.progress import log_step
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.signals import cancelled_once

LEAST_EVIDENCE = 55.0
"""Minimum percent of LoCoMo's evidence in a window of a quarter of the tokens, through the product."""
LEAST_OF_ONE_PASS = 0.9
"""Minimum share of what one pass retains in a tenth of the tokens that the product retains."""
PRODUCT = "the product: append, compress as it goes, window"


def run(data: Path | None) -> Outcome:
    """Measures on all installed data sets; LoCoMo is required.

    Raises:
        MissingData: LoCoMo is not installed.
    """
    found = {"locomo": rows(data, "locomo"), "bfcl_memory": optional_rows(data, "bfcl_memory")}
    log_step("what is left after one compression")
    survived = {
        name: survival([LabelledConversation.of(row) for row in members]) for name, members in found.items() if members
    }
    log_step("sizes, and calls without their results")
    sizes, broken, points = ratios(data), pairs(data), tools.points(data)
    needed = tools.retained(points) if points else {}
    labelled = [LabelledConversation.of(row) for row in found["locomo"]]
    rolling, left = asyncio.run(cancelled_once(_product(data, labelled)))
    survived["locomo"] |= rolling
    whole = all(one.pairs == one.starts == 0 for name, one in broken.items() if is_ours(name))
    above = all(_beats_baselines(by) for by in survived.values()) and _beats(needed)
    return Outcome(
        gate_passed=above and keeps_rolling(survived["locomo"]) and whole and left.passed,
        results={
            "survival": {name: {policy: one.to_json() for policy, one in by.items()} for name, by in survived.items()},
            "needed": {name: {str(share): round(one, 1) for share, one in by.items()} for name, by in needed.items()},
            "ratios": to_json(sizes),
            "pairs": {name: one.to_json() for name, one in broken.items()},
            "repeats": left.to_json(),
        },
        settings={
            "model": MODEL,
            "seed": SEED,
            "least_evidence": LEAST_EVIDENCE,
            "least_of_one_pass": LEAST_OF_ONE_PASS,
            "compressions": COMPRESSIONS,
            "planted": 2 * PLANTED,
            "budget": BUDGET,
        },
        tables=[
            *(survival_table(name, by) for name, by in survived.items()),
            *([tools.table(needed)] if needed else []),
            ratio_table(sizes),
            pair_table(broken),
            repeats_table(left),
        ],
    )


def keeps_rolling(found: Mapping[str, Survival]) -> bool:
    """Whether the product retains enough evidence at every share."""
    ours, one_pass = ({share: found[at(name, share)].evidence for share in SHARES} for name in (PRODUCT, OURS))
    return ours[25] >= LEAST_EVIDENCE and ours[10] >= LEAST_OF_ONE_PASS * one_pass[10]


async def _product(
    data: Path | None, conversations: list[LabelledConversation]
) -> tuple[dict[str, Survival], Survivors]:
    async with temporary_postgres() as dsn, await create_pool(dsn) as pool:
        log_step("what is left of conversations that are compressed as they go")
        found = {
            at(PRODUCT, share): measured(
                conversations,
                [await rolled(pool, f"{share}-{place}", one, share) for place, one in enumerate(conversations)],
            )
            for share in SHARES
        }
        log_step("what is left after many compressions")
        return found, await repeats(pool, data, SEED)


def _beats_baselines(found: Mapping[str, Survival]) -> bool:
    """Whether extracts retain as much evidence as the best selection of whole messages, at every share."""
    return all(
        found[at(ours, share)].evidence >= found[at(name, share)].evidence
        for ours in (OURS, OURS_WITH_FACTS)
        for name in (ENTITY_DENSE, RARE_WORDS)
        for share in SHARES
    )


def _beats(needed: Mapping[str, Mapping[int, float]]) -> bool:
    """Whether an extract leaves more of what later calls need than any baseline, at every share."""
    ours = needed.get(tools.OURS, {})
    return all(ours[share] >= most for by in needed.values() for share, most in by.items())
