"""The redactor: replaces personal data and secrets in text by placeholders."""

import hmac
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from purser.context.redaction.detectors.built_in import LEAST_SPECIFIC, SPECIFIC
from purser.context.redaction.findings import Detector, Found, findings
from purser.context.redaction.view import plain_view

MOST_PASSES = 10
"""Passes over a text, each of which takes linear time. Most texts need two or three."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder and the digest of its value, without the value."""

    label: str
    number: int
    """Number within the label, from 1."""
    digest: bytes
    """HMAC of label and value under the session's key."""

    def __str__(self) -> str:
        return f"[{self.label}_{self.number}]"


class Redactor:
    """Redacts the texts of one session: the same value gets the same placeholder in any notation.

    Not thread-safe. Values are stored as digests, never as text.
    """

    def __init__(
        self,
        key: bytes | None = None,
        known: Iterable[Placeholder] = (),
        custom: Sequence[Detector] = (),
        exempt: Callable[[Found], bool] = lambda found: False,
    ) -> None:
        """Args:
        key: key of the session; `None` for a random one, for texts outside of sessions.
        known: existing placeholders of the session.
        custom: detectors from `custom_detectors`, which run before that of phone numbers.
        exempt: returns whether a finding stays in the text.
        """
        self._key = key or secrets.token_bytes(32)
        self._exempt = exempt
        self._detectors = (*SPECIFIC, *custom, *LEAST_SPECIFIC)
        labels = {detector.label for detector in self._detectors}
        self._placeholder = re.compile(rf"\[({'|'.join(sorted(labels))})_([1-9][0-9]{{0,8}})\]")
        self._known = {(one.label, one.digest): one for one in known}
        self._last = dict.fromkeys(labels, 0)
        for one in self._known.values():
            self._last[one.label] = max(self._last.get(one.label, 0), one.number)
        self.new: list[Placeholder] = []
        """New placeholders, in the order of their values."""
        self.counts: Counter[str] = Counter()
        """Number of replaced values by label."""

    def redact(self, text: str) -> str:
        """Replaces each value by a placeholder such as `[EMAIL_1]`; existing placeholders stay as they are.

        A text in which values still turn up after `MOST_PASSES` is replaced as a whole.

        Raises:
            RedactionFailed: a detector failed, so the text must be withheld.
        """
        result, last, passes = self._replaced(text), text, 1
        # Repeat until stable: a placeholder may complete a secret that a space had interrupted.
        while result != last:
            if passes == MOST_PASSES:
                result = str(self._placeholder_of(Found(0, len(text), "SECRET", text)))
                break
            result, last, passes = self._replaced(result), result, passes + 1
        self.counts += self._labels(result) - self._labels(text)
        return result

    def _replaced(self, text: str) -> str:
        view = plain_view(text)
        parts, end = [], 0
        for found in findings(view.text, list(self._existing(view.text)), self._detectors):
            if found.label and not self._exempt(found):
                start, after = view.origin(found.start, found.end)
                parts += [text[end:start], str(self._placeholder_of(found))]
                end = after
        return "".join([*parts, text[end:]])

    def _labels(self, text: str) -> Counter[str]:
        return Counter(match[1] for match in self._placeholder.finditer(text))

    def _existing(self, text: str) -> Iterable[Found]:
        """Yields existing placeholders of the text and reserves their numbers."""
        for match in self._placeholder.finditer(text):
            self._last[match[1]] = max(self._last[match[1]], int(match[2]))
            yield Found(match.start(), match.end(), "", match[0])

    def _placeholder_of(self, found: Found) -> Placeholder:
        value = f"{found.label}\0{found.value}".encode("utf-8", "surrogatepass")
        digest = hmac.digest(self._key, value, "sha256")
        if (known := self._known.get((found.label, digest))) is None:
            self._last[found.label] += 1
            known = Placeholder(found.label, self._last[found.label], digest)
            self._known[found.label, digest] = known
            self.new.append(known)
        return known
