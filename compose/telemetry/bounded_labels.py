"""Bounded label values: values that callers choose become `other`, because each new value would be a new series."""

import re
from collections.abc import Collection

_OTHER = b"other"


def bounded(text: bytes, label: str, known: Collection[str]) -> bytes:
    """Replace each unknown value of a label with `other` and add up series that become equal.

    Args:
        text: counters and histograms, whose samples may be added, in the Prometheus text format.
        label: name of the label.
        known: values that stay as they are.
    """
    found = re.compile(rb"(?<=[{,])" + label.encode() + rb'="((?:[^"\\]|\\.)*)"')
    unchanged = {value.encode() for value in known} | {b"", _OTHER}
    if unchanged.issuperset(found.findall(text)):
        return text
    lines: list[bytes] = []
    places: dict[bytes, int] = {}
    values: dict[bytes, float] = {}
    for line in text.splitlines():
        match = None if line.startswith(b"#") else found.search(line)
        if match is None or match[1] == b"":
            lines.append(line)
            continue
        value = match[1] if match[1] in unchanged else _OTHER
        series, _, sample = (line[: match.start(1)] + value + line[match.end(1) :]).rpartition(b" ")
        places.setdefault(series, len(lines))
        if series in values:
            values[series] += float(sample)
        else:
            values[series] = float(sample)
            lines.append(series)
    for series, place in places.items():
        lines[place] = series + b" " + f"{values[series]:.17g}".encode()
    return b"\n".join(lines) + b"\n"
