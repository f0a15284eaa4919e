"""Checks of a task file that do not depend on its model: addresses, cycles, and the wording of errors."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit


def is_below(address: str, base: str) -> bool:
    """Whether `address` is `base` or lies below it: on the same host, without `..`, escapes, query or fragment."""
    try:
        asked, allowed = urlsplit(address), urlsplit(base)
    except ValueError:
        return False
    folders, allowed_folders = asked.path.strip("/").split("/"), allowed.path.strip("/").split("/")
    plain = not (asked.query or asked.fragment or {"..", "."} & set(folders) or "%" in asked.path)
    same_host = (asked.scheme, asked.netloc) == (allowed.scheme, allowed.netloc)
    return plain and same_host and (allowed_folders == [""] or folders[: len(allowed_folders)] == allowed_folders)


def ids_in_circles(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the ids that depend on themselves, directly or through others, and those that depend on them; sorted."""
    left = {name: set(others) for name, others in edges.items()}
    while free := [name for name, others in left.items() if not others]:
        for name in free:
            del left[name]
        for others in left.values():
            others.difference_update(free)
    return sorted(left)


TOO_DEEP = "$ nests too deep: use fewer levels of objects and lists, above all in the parameters of tools"
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
    hidden = not where or not isinstance(value, int | float | str | None) or _TEXTS.intersection(where)
    shown = type(value).__name__ if hidden else repr(value)[:140]
    return f"{place} is {shown}: {remedy[0].lower()}{remedy[1:]}"
