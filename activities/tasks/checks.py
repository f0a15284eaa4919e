"""Checks of a task file that do not depend on its model: addresses, cycles, and the wording of errors."""

from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from purser.activities.errors import InvalidTask

_DOTS = ". \u3002"
"""Characters of a segment that is read as one of dots: the last one is the full stop of Chinese."""


def is_below(address: str, base: str) -> bool:
    """Whether `address` is `base` or lies below it: on the same host, without `..`, escapes, query or fragment."""
    try:
        asked, allowed = urlsplit(address), urlsplit(base)
    except ValueError:
        return False
    folders, allowed_folders = asked.path.strip("/").split("/"), allowed.path.strip("/").split("/")
    plain = not (asked.query or asked.fragment or "%" in asked.path) and is_plain_path(asked.path)
    same_host = (asked.scheme, asked.netloc) == (allowed.scheme, allowed.netloc)
    return plain and same_host and (allowed_folders == [""] or folders[: len(allowed_folders)] == allowed_folders)


def is_plain_path(path: str) -> bool:
    """Whether every server reads a path alike: no segment is `.` or `..`, or may be taken for one.

    Some decode a path twice, or decode forms that UTF-8 forbids; some ignore what follows a `;` in each segment, or a
    control character; some take the wide forms of dots and slashes for the usual ones.
    """
    return all(map(_is_plain, path.split("/")))


def _is_plain(segment: str) -> bool:
    try:
        read = normalize("NFKC", unquote(segment, errors="strict"))
    except UnicodeDecodeError:
        return False
    name = read.partition(";")[0]
    return read.isprintable() and not set("/\\%?#") & set(read) and not (name and not name.strip(_DOTS))


def cycle_in(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns a cycle of a graph, from a node through others to the same node again; empty if there is none."""
    left = {name: set(others) for name, others in edges.items()}
    while free := [name for name, others in left.items() if not others]:
        for name in free:
            del left[name]
        for others in left.values():
            others.difference_update(free)
    if not left:
        return []
    walked = [min(left)]
    while (following := min(left[walked[-1]])) not in walked:
        walked.append(following)
    return [*walked[walked.index(following) :], following]


MOST_FAULTS = 20
"""Most faults of a task file that are named: each of 200 agents may have the same."""


def invalid(faults: Sequence[str]) -> InvalidTask:
    """The error that names the faults of a task file."""
    more = len(faults) - MOST_FAULTS
    return InvalidTask("; ".join([*faults[:MOST_FAULTS], *([f"and {more} more"] if more > 0 else [])]))


TOO_DEEP = "$ nests too deep: use fewer levels of objects and lists, above all in the parameters of tools"
NAME = r"^[^\s\x00-\x1f]+$"
TOOL_NAME = r"^[A-Za-z0-9_-]{1,64}$"
_RULES = {
    NAME: "use no spaces and no control characters",
    TOOL_NAME: "use 1 to 64 of the characters A-Z a-z 0-9 _ -",
}
"""Patterns of a task file in words."""
_TEXTS = {"input", "instructions", "description", "text", "parameters"}


def explain(detail: Mapping[str, Any]) -> str:
    """Words one pydantic error as place, value and remedy; never repeats the texts of a task."""
    where, value = detail["loc"], detail["input"]
    place = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where)
    remedy = detail["msg"].removeprefix("Value error, ")
    match detail["type"]:
        case "missing":
            return f"{place} is missing: add it"
        case "extra_forbidden":
            return f"{place[:200]} is not a field of a task file: remove it or correct its name"
        case "json_invalid":
            return TOO_DEEP
        case "string_pattern_mismatch":
            remedy = _RULES.get(detail["ctx"]["pattern"], remedy)
    hidden = not where or not isinstance(value, int | float | str | None) or _TEXTS.intersection(where)
    shown = type(value).__name__ if hidden else repr(value)[:140]
    return f"{place} is {shown}: {remedy[0].lower()}{remedy[1:]}"
