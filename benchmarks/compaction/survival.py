"""Survival rates of compaction policies: evidence retained word for word, and words of answers retained."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from purser.benchmarks.compaction.conversations import LabelledConversation
from purser.benchmarks.compaction.policies import (
    Policy,
    Remains,
    at_random,
    entity_dense,
    everything,
    extracted,
    extracted_with_facts,
    first_and_last,
    last_messages,
    newest,
    rarest,
)
from purser.benchmarks.outcome import Cell, Table

ENTITY_DENSE, RARE_WORDS = "3 + 20 + entity-dense", "3 + 20 + rare words"
OURS, OURS_WITH_FACTS = "3 + 20 + our extract", "3 + 20 + our extract and facts"
SHARES = (10, 25)
"""Percent of a conversation's tokens that a policy may retain."""
FIXED: Mapping[str, Policy] = {
    "everything": everything,
    "last 20 messages": last_messages,
    "first 3 + last 20 messages": first_and_last,
}
SIZED: Mapping[str, Policy] = {
    "newest that fit": newest,
    "3 + 20 + random": at_random,
    RARE_WORDS: rarest,
    ENTITY_DENSE: entity_dense,
    OURS: extracted,
    OURS_WITH_FACTS: extracted_with_facts,
}
_ARTICLES = {"a", "an", "the"}


@dataclass(frozen=True)
class Survival:
    """Figures of one policy on one set, in percent."""

    retained: float
    """Share of the tokens."""
    evidence: float
    """Share of a question's evidence retained word for word, averaged over all questions."""
    answers: float
    """Share of the words of the answer that the remaining text contains."""
    spread: Sequence[float]
    """Evidence retained, by conversation."""

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON, rounded to one decimal."""
        return {
            "kept": round(self.retained, 1),
            "evidence": round(self.evidence, 1),
            "answers": round(self.answers, 1),
            "evidence_by_conversation": [round(one, 1) for one in self.spread],
        }


def survival(conversations: Sequence[LabelledConversation]) -> dict[str, Survival]:
    """Measures every policy at every share, keyed `policy @ share`, or by name alone where it has no share."""
    found = {name: _measured(conversations, policy, 100) for name, policy in FIXED.items()}
    return found | {
        at(name, share): _measured(conversations, policy, share) for share in SHARES for name, policy in SIZED.items()
    }


def at(policy: str, share: int) -> str:
    """The key of a policy at a share."""
    return f"{policy} @ {share} %"


def survival_table(name: str, found: Mapping[str, Survival]) -> Table:
    """Tabulates the figures of one set."""
    rows: list[list[Cell]] = [
        [policy, one.retained, one.evidence, min(one.spread), max(one.spread), one.answers]
        for policy, one in found.items()
    ]
    columns = ["policy", "retained %", "evidence %", "worst conversation", "best conversation", "answer words %"]
    return Table(f"What survives, {name}", columns, rows)


def _measured(conversations: Sequence[LabelledConversation], policy: Policy, share: int) -> Survival:
    left = [policy(conversation, sum(conversation.tokens) * share // 100) for conversation in conversations]
    return measured(conversations, left)


def measured(conversations: Sequence[LabelledConversation], found: Sequence[Remains]) -> Survival:
    """The figures of what is left of each conversation."""
    evidence = [_evidence(conversation, remains) for conversation, remains in zip(conversations, found, strict=True)]
    return Survival(
        retained=100
        * sum(remains.tokens for remains in found)
        / sum(sum(conversation.tokens) for conversation in conversations),
        evidence=100 * mean(score for scores in evidence for score in scores),
        answers=100
        * mean(
            score
            for conversation, remains in zip(conversations, found, strict=True)
            for score in _answers(conversation, remains)
        ),
        spread=[100 * mean(scores) for scores in evidence],
    )


def _evidence(conversation: LabelledConversation, remains: Remains) -> list[float]:
    retained = set(remains.retained)
    return [mean(index in retained for index in question.evidence) for question in conversation.questions]


def _answers(conversation: LabelledConversation, remains: Remains) -> list[float]:
    said = set(_normal(remains.text))
    return [max(_covered(answer, said) for answer in question.answers) for question in conversation.questions]


def _covered(answer: str, said: set[str]) -> float:
    wanted = _normal(answer)
    return mean(word in said for word in wanted) if wanted else 0.0


def _normal(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in _ARTICLES]
