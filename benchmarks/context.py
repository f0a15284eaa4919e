"""Compaction benchmark: evidence retained, compression ratio, intact tool pairs, facts left after many compressions.

Gate: an extract of a quarter of the tokens retains as much LoCoMo evidence as the published entity-dense baseline; no
tool call loses its result; after ten compressions all pins and 90 % of the facts are left.
"""

from pathlib import Path

from purser.benchmarks.compaction.conversations import MODEL, LabelledConversation, optional_rows
from purser.benchmarks.compaction.pairs import is_ours, pair_table, pairs
from purser.benchmarks.compaction.policies import SEED
from purser.benchmarks.compaction.ratios import ratio_table, ratios, to_json
from purser.benchmarks.compaction.repeats import BUDGET, COMPRESSIONS, PLANTED, repeats, repeats_table
from purser.benchmarks.compaction.survival import OURS, OURS_WITH_FACTS, at, survival, survival_table
from purser.benchmarks.data import rows
from purser.benchmarks.outcome import Outcome

LEAST_EVIDENCE = 42.9
"""Minimum percent of LoCoMo's evidence that an extract of 25 % must retain."""


def run(data: Path | None) -> Outcome:
    """Measures on all installed data sets; LoCoMo is required.

    Raises:
        MissingData: LoCoMo is not installed.
    """
    found = {"locomo": rows(data, "locomo"), "bfcl_memory": optional_rows(data, "bfcl_memory")}
    survived = {
        name: survival([LabelledConversation.of(row) for row in members]) for name, members in found.items() if members
    }
    sizes, broken, left = ratios(data), pairs(data), repeats(data, SEED)
    evidence_left = [survived["locomo"][at(policy, 25)].evidence for policy in (OURS, OURS_WITH_FACTS)]
    whole = all(one.pairs == one.starts == 0 for name, one in broken.items() if is_ours(name))
    return Outcome(
        gate_passed=min(evidence_left) >= LEAST_EVIDENCE and whole and left.passed,
        results={
            "survival": {name: {policy: one.to_json() for policy, one in by.items()} for name, by in survived.items()},
            "ratios": to_json(sizes),
            "pairs": {name: one.to_json() for name, one in broken.items()},
            "repeats": left.to_json(),
        },
        settings={
            "model": MODEL,
            "seed": SEED,
            "least_evidence": LEAST_EVIDENCE,
            "compressions": COMPRESSIONS,
            "planted": 2 * PLANTED,
            "budget": BUDGET,
        },
        tables=[
            *(survival_table(name, by) for name, by in survived.items()),
            ratio_table(sizes),
            pair_table(broken),
            repeats_table(left),
        ],
    )
