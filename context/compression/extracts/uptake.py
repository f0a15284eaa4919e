"""What later messages take up of an earlier one: names and numbers that it brought up and that others then use."""

import re
from collections import defaultdict
from collections.abc import Sequence

from purser.context.compression.requests import Passage

_LETTER = r"(?:(?![\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])[\w.'’-])"
_WORD = re.compile(rf"《[^》]{{1,40}}》|(?>{_LETTER}{{3,}})")
_MARK = re.compile(r"[A-ZÀ-ÖØ-Þ\d]")


class Uptake:
    """Where names and numbers are brought up, and who uses them."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Args:
        passages: the messages; what tools return is not brought up by them, and does not take up anything.
        """
        self._speakers = [passage.speaker for passage in passages]
        self._first: dict[str, int] = {}
        self._users: dict[str, set[str]] = defaultdict(set)
        for place, passage in enumerate(passages):
            for word in marked_words(passage.text) if passage.role != "tool" else ():
                self._first.setdefault(word, place)
                self._users[word].add(passage.speaker)

    def takes_up(self, part: str, place: int) -> bool:
        """Whether another speaker later uses a word of this part that its message brought up.

        Args:
            part: a part of a message.
            place: index of the message.
        """
        own = self._speakers[place]
        return any(self._users[word] - {own} for word in marked_words(part) if self._first.get(word) == place)


def marked_words(text: str) -> set[str]:
    """Words with a capital letter or a digit before their last two letters, and titles.

    They tell what something is about in any language.
    """
    found = (match[0] for match in _WORD.finditer(text))
    return {word.casefold().strip(".'’-") for word in found if word[0] == "《" or _MARK.search(word, 0, len(word) - 2)}
