"""Detectors of secrets and keys in columns of tables, by the header: Markdown, CSV, tab-separated text, psql."""

import re
from collections.abc import Iterator

from purser.context.redaction.detectors.credentials import KEY_LABEL, is_mixed
from purser.context.redaction.detectors.labelled import is_code
from purser.context.redaction.detectors.passwords import SECRET_LABEL, is_secret_of_cell
from purser.context.redaction.findings import Found

_DELIMITERS = "|,;\t"
_MARKS = " \"'`*_\r"
"""What may surround the text of a cell."""
_LINE = re.compile(r"[-+|:= \r]{3,}\Z")
"""The line between the header and the rows."""
_LEAST_KEY = 16
"""Least characters of a key: columns of tokens also hold words and counts."""


def _header(label: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?<=[{_DELIMITERS}\n])|\A)[{_MARKS}]{{0,4}}(?:[^\W_][\w.-]{{0,24}}[ _-])?(?:{label})"
        rf"[{_MARKS}:]{{0,4}}(?=[{_DELIMITERS}\n]|\Z)",
        re.VERBOSE | re.IGNORECASE,
    )


_SECRETS, _KEYS = _header(SECRET_LABEL), _header(KEY_LABEL)


def find_columns_of_secrets(view: str) -> Iterator[Found]:
    """Finds passwords below a header such as `| user | password |` or `user,password`."""
    for start, value in _below(view, _SECRETS):
        if is_secret_of_cell(value):
            yield Found(start, start + len(value), "SECRET", value)


def find_columns_of_keys(view: str) -> Iterator[Found]:
    """Finds keys and tokens below a header such as `| service | API key |`."""
    for start, value in _below(view, _KEYS):
        if len(value) >= _LEAST_KEY and is_mixed(value) and not is_code(value):
            yield Found(start, start + len(value), "API_KEY", value)


def _below(view: str, header: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yields the beginning and the text of each cell of one word in the columns with such a header."""
    if not header.search(view):
        return
    start, delimiter, cells, columns = 0, "", 0, frozenset[int]()
    for line in view.split("\n"):
        if columns and line.count(delimiter) == cells:
            place = start
            for column, cell in enumerate(line.split(delimiter)):
                if column in columns and (value := cell.strip(_MARKS)) and not re.search(r"\s", value):
                    yield place + cell.index(value), value
                place += len(cell) + 1
        elif not _LINE.match(line):
            delimiter = max(_DELIMITERS, key=line.count)
            # Commas with spaces after them are those of a sentence.
            cells = 0 if delimiter in ",;" and f"{delimiter} " in line else line.count(delimiter)
            found = header.finditer(line) if cells else ()
            columns = frozenset(line.count(delimiter, 0, match.start()) for match in found)
        start += len(line) + 1
