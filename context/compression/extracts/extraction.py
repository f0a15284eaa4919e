"""Extractive summaries: messages and sentences picked from the conversation without a model."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from purser.context.compression.extracts.units import Unit, units
from purser.context.compression.requests import CountText, SummarySource
from purser.context.conversation.wording import (
    names,
    negations,
    numbers,
    ordinals,
    past_events,
    questions,
    stems,
    times,
    words,
)
from purser.context.facts.languages import languages_of
from purser.context.facts.statements import statements

_FAIR_SHARE = 4
"""One message takes at most a quarter of the room in the first pass over all messages."""
_LONGEST_STATEMENT = 600
"""Characters of a text above which preferences and decisions are not looked for."""
_DECIDING, _DECIDING_ALONE = 2.0, 3.0
"""Weight of a number, and of a preference, refusal or decision. Somebody who writes alone, as to a service, reports to
have something done: it depends on amounts, ids and decisions, where people who chat also ask each other what happened
when."""
_WORDS_PER_NUMBER = 4
"""Numbers count up to one per so many words, so that a table scores no higher than a sentence."""


def extract(source: SummarySource, most_tokens: int, count: CountText) -> str:
    """Picks the units with the most information per token, verbatim and in their original order.

    Short messages are picked whole, long ones by part, tool calls as records with their outcome. While other messages
    have candidates left, the parts of one message get at most a quarter of the room, so that no message can write the
    summary alone. Deterministic.

    Args:
        source: the text to pick from; lines of the last version compete with new messages.
        most_tokens: upper bound of the result.
        count: counts tokens with the tokenizer of the model that will read the summary.

    Returns:
        The summary; empty where nothing fits.
    """
    return _Selection.of(source, most_tokens, count).text(most_tokens)


def extract_layers(
    source: SummarySource, older: int, most_tokens: int, least: tuple[int, int], count: CountText
) -> tuple[str, str]:
    """Picks the units of two layers at once, so that each layer gets the room that its units win.

    Where layers are extracted one after the other, the older one loses a share of its lines with each version, whatever
    they say; here they compete with the new messages.

    Args:
        source: the lines of the older layer's last version, and messages.
        older: number of messages, from the first, that belong to the older layer too.
        most_tokens: upper bound of both texts together.
        least: tokens for which units of the older and of the newer layer do not compete with those of the other.
        count: as for `extract`.

    Returns:
        The texts of the older and of the newer layer.
    """
    selection = _Selection.of(source, most_tokens, count)
    return selection.layers(older, most_tokens, least)


@dataclass(frozen=True, slots=True)
class _Selection:
    """Candidates of an extract, from the best to the worst."""

    units: Sequence[tuple[Unit, int]]
    """In their original order, each with its tokens."""
    order: Sequence[int]
    """Their indexes, best first."""
    count: CountText

    @classmethod
    def of(cls, source: SummarySource, most_tokens: int, count: CountText) -> Self:
        candidates = units(source, most_tokens, count)
        found = list({unit.line: (unit, tokens) for unit, tokens in candidates}.values())
        worths = _worths([unit for unit, _ in found], {passage.speaker for passage in source.passages})
        return cls(found, sorted(range(len(found)), key=lambda index: (-worths[index] / found[index][1], index)), count)

    def text(self, most_tokens: int) -> str:
        """The units that fit."""
        return self._joined(self._picked(most_tokens), most_tokens)

    def layers(self, older: int, most_tokens: int, least: tuple[int, int]) -> tuple[str, str]:
        """The units of two layers that fit; see `extract_layers`."""
        layers = [1 if unit.passage is not None and unit.passage >= older else 0 for unit, _ in self.units]
        most = most_tokens - least[1], most_tokens - least[0]
        picked = self._picked(most_tokens, layers, most)
        old = self._joined([index for index in picked if layers[index] == 0], most[0])
        return old, self._joined([index for index in picked if layers[index] == 1], most_tokens - self.count(old))

    def _picked(
        self, most_tokens: int, layers: Sequence[int] | None = None, most_of: tuple[int, ...] | None = None
    ) -> list[int]:
        """Indexes of the units that fit, best first: first a fair share of each message, then more of any.

        Args:
            most_tokens: upper bound of all.
            layers: the layer of each unit.
            most_of: upper bound of each layer.
        """
        layers, most_of = layers or [0] * len(self.units), most_of or (most_tokens,)
        picked: dict[int, None] = {}
        taken = Counter[int]()
        for most_each in (most_tokens // _FAIR_SHARE, most_tokens):
            # What the first pass quoted and also picked leaves its room to the second.
            used = [self._used([index for index in picked if layers[index] == layer]) for layer in range(len(most_of))]
            room, rooms = most_tokens - sum(used), [most - own for most, own in zip(most_of, used, strict=True)]
            for index in self.order:
                unit, tokens = self.units[index]
                passage, layer = unit.passage, layers[index]
                fair = passage is None or not taken[passage] or taken[passage] + tokens <= most_each
                if index not in picked and tokens <= min(room, rooms[layer]) and fair:
                    picked[index] = None
                    room -= tokens
                    rooms[layer] -= tokens
                    if passage is not None:
                        taken[passage] += tokens
        return list(picked)

    def _used(self, picked: Sequence[int]) -> int:
        """Tokens of the units as they stand together."""
        bare = self._bare(picked)
        return sum(
            self.count(self.units[index][0].bare + "\n") if index in bare else self.units[index][1] for index in picked
        )

    def _bare(self, picked: Sequence[int]) -> set[int]:
        """Those of the units that quote only what others of them say."""
        said = defaultdict[int | None, list[str]](list)
        for unit, _ in (self.units[index] for index in picked):
            said[unit.passage].append(unit.text)
        quotes = ((index, self.units[index][0].quotes) for index in picked)
        return {
            index
            for index, quoted in quotes
            if quoted and all(any(text in one for one in said[passage]) for passage, text in quoted)
        }

    def _joined(self, picked: Sequence[int], most_tokens: int) -> str:
        """The units in their original order, without the worst where together they take more than each alone."""
        left = list(picked)
        while left and self.count(text := self._text(left)) > most_tokens:
            left.pop()
        return text if left else ""

    def _text(self, picked: Sequence[int]) -> str:
        bare = self._bare(picked)
        shown = ((index, self.units[index][0]) for index in sorted(picked))
        return "\n".join(unit.bare if index in bare else unit.line for index, unit in shown)


def _worths(pieces: Sequence[Unit], speakers: set[str]) -> list[float]:
    """Scores the information in each unit.

    Numbers, names and rare words form the usual entity-dense score; past events, times and answers are what users ask
    for later. These weights were fitted on five conversations of people and cross-validated by leaving each one out.
    Preferences, refusals and decisions count as much as a name.
    """
    deciding = _DECIDING_ALONE if len(speakers) == 1 else _DECIDING
    found = [words(piece.text) for piece in pieces]
    distinct = [stems(piece.text, own) for piece, own in zip(pieces, found, strict=True)]
    spread = Counter(stem for own in distinct for stem in own)
    rarity = {stem: math.log(len(pieces) / often) for stem, often in spread.items()}
    return [
        piece.weight
        * (
            deciding * (_amounts(piece.text, own) + _stated(piece.text))
            + 2 * (len(names(piece.text, speakers)) + past_events(piece.text) + piece.answers)
            + 4 * times(piece.text)
            + 0.5 * negations(piece.text)
            + 0.2 * sum(rarity[stem] for stem in sorted(rare))
            - questions(piece.text)
        )
        for piece, own, rare in zip(pieces, found, distinct, strict=True)
    ]


def _amounts(text: str, found: Sequence[str]) -> int:
    """Numbers among the words of a text, but for places in a sequence."""
    return min(len(numbers(found)) - ordinals(text), 1 + len(found) // _WORDS_PER_NUMBER)


def _stated(text: str) -> int:
    """Preferences, refusals and decisions."""
    return len(list(statements(text, languages_of(text)))) if len(text) <= _LONGEST_STATEMENT else 0
