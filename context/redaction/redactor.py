"""Takes personal data and secrets out of text, and puts placeholders there."""

import hmac
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from purser.context.redaction.detectors import LEAST_SPECIFIC, SPECIFIC
from purser.context.redaction.findings import Detector, Found, findings
from purser.context.redaction.view import plain_view


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Which value a placeholder stands for, without telling it."""

    label: str
    number: int
    """Counted per label, from 1."""
    digest: bytes
    """Of the value, under the key of its session."""

    def __str__(self) -> str:
        return f"[{self.label}_{self.number}]"


class Redactor:
    """Redacts the texts of one session: the same value gets the same placeholder, however it is written.

    Not for several threads at once. What it saw is remembered as digests, never as text.
    """

    def __init__(
        self,
        key: bytes | None = None,
        known: Iterable[Placeholder] = (),
        custom: Sequence[Detector] = (),
        exempt: Callable[[Found], bool] = lambda found: False,
    ) -> None:
        """Args:
        key: of the session; `None` takes a random one, for texts that stand alone.
        known: placeholders that the session has already.
        custom: detectors of `custom_detectors`, asked before phone numbers.
        spared: tells which findings stay in the text.
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
        """Placeholders that the session had not, in the order of their values."""
        self.counts: Counter[str] = Counter()
        """Values that were replaced, by label."""

    def redact(self, text: str) -> str:
        """The text with a placeholder such as `[EMAIL_1]` for each value; what is redacted already stays as it is.

        Raises:
            RedactionFailed: a detector broke, so nothing is known of the text.
        """
        result, last = self._replaced(text), text
        # A placeholder may complete a secret that a space had cut before: what is found may uncover a little more.
        while result != last:
            result, last = self._replaced(result), result
        self.counts += self._labels(result) - self._labels(text)
        return result

    def _replaced(self, text: str) -> str:
        parts, end = [], 0
        for found in findings(plain_view(text), list(self._existing(text)), self._detectors):
            if found.label and not self._exempt(found):
                parts += [text[end : found.start], str(self._placeholder_of(found))]
                end = found.end
        return "".join([*parts, text[end:]])

    def _labels(self, text: str) -> Counter[str]:
        return Counter(match[1] for match in self._placeholder.finditer(text))

    def _existing(self, text: str) -> Iterable[Found]:
        """Placeholders in the text. Their numbers are taken, whatever they stand for."""
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
