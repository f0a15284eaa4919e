"""The table of texts from ten countries: what is found, and what is left alone."""

from collections import Counter

from purser.benchmarks.redact.table import Row, read, score, table
from purser.context.redaction import LABELS, Redactor
from purser.context.redaction.detectors.built_in import LEAST_SPECIFIC, SPECIFIC
from purser.context.redaction.findings import Detector
from purser.context.redaction.view import plain_view

COUNTRIES = {"us", "gb", "de", "fr", "es", "br", "ru", "cn", "jp", "in"}


def _redact(text: str) -> str:
    return Redactor().redact(text)


def test_almost_everything_is_found_and_almost_nothing_else() -> None:
    result = score(table(), _redact)
    assert result.recall >= 0.98, result.failures
    assert result.precision >= 0.97, result.failures
    assert result.changed <= 0.03 * result.plain, result.failures
    assert result.gate_passed


def test_the_table_has_ten_countries_and_hundreds_of_texts_with_and_without_personal_data() -> None:
    rows = table()
    assert min(Counter(bool(row.labels) for row in rows).values()) >= 400
    assert {row.place.partition(".")[0] for row in rows} > COUNTRIES
    assert {label for row in rows for label in row.labels} == set(LABELS)
    assert all(len(row.labels) == len(row.between) - 1 for row in rows)


def test_a_redacted_text_stays_as_it_is() -> None:
    changed = [row.place for row in table() if _redact(once := _redact(row.text)) != once]
    assert not changed


def test_every_finding_has_a_sign_of_its_detector() -> None:
    for text in (text for row in table() for text in (row.text, row.text.upper())):
        view = plain_view(text).text
        missed = [
            one.label
            for one in (*SPECIFIC, *LEAST_SPECIFIC)
            if one.signs and any(one.find(view)) and not _signs(one, view)
        ]
        assert not missed, text


def _signs(detector: Detector, view: str) -> list[str]:
    return [sign for sign in detector.signs if sign in view.casefold()]


def _row(line: str) -> Row:
    [row] = read("a.txt", line)
    return row


def test_a_value_counts_only_as_a_whole_and_with_its_label() -> None:
    row = _row("EMAIL | to ‹a@x.org› and back")
    assert score([row], lambda text: "to [EMAIL_1] and back").right == 1
    for wrong in ("to a@x.org and back", "to [EMAIL_1].org and back", "to [PHONE_1] and back", "[EMAIL_1] and back"):
        assert score([row], {row.text: wrong}.__getitem__).right == 0


def test_another_replacement_counts_against_the_precision_and_fails_the_gate() -> None:
    rows = [_row("EMAIL | to ‹a@x.org›"), _row("- | at 0800-1700")]
    right = {"to a@x.org": "to [EMAIL_1]"}
    assert score(rows, lambda text: right.get(text, text)).gate_passed
    result = score(rows, lambda text: right.get(text, "at [PHONE_1]"))
    assert (result.wrong, result.changed, result.precision) == (1, 1, 0.5)
    assert not result.gate_passed
