"""Pages and dumps that agents paste into their messages: what of them is text, and what only surrounds it."""

import json
import re
from collections.abc import Iterator

from purser.context.compression.extracts.records import decides
from purser.context.conversation.wording import CJK, sentences, words

_LEAST_LINES = 6
"""Lines of a page; a shorter message is no page."""
_LEAST_DATA = 3
_LEAST_MENU = 4
"""Entries of a menu."""
_MENU_WORDS, _MENU_CHARACTERS = 3, 6
"""Most words of a menu's entry, or most Chinese, Japanese or Korean characters."""
_OPENING_WORDS, _OPENING_CHARACTERS = 4, 8
_LONGEST_ADDRESS = 60
"""Characters of the address of a link up to which it stays."""
_LEAST_WORDS = 4
"""Words of a value that is a sentence."""

# Possessive, because messages are long and of others: a line must not be tried in many ways.
_MEMBER = re.compile(r'\s*+"(?P<name>[^"]++)"\s*+:\s*+(?P<value>\S.*+)', re.DOTALL)
_BRACKETS = re.compile(r"\s*+(?=\S)(?:\"[^\"]++\"\s*+:\s*+)?[\[\](){}\s,]*+")
_STRING = re.compile(r'\s++"(?>(?:[^"\\]++|\\.)*)",?\s*+|\s*+"(?>(?:[^"\\]++|\\.)*)",\s*+')
_TRACE = re.compile(r'\s*(?:File "|Traceback \(most recent|/[\w./-]+:\d+)')
_LINK = re.compile(r"!?\[([^\[\]\n]*+)\]\(([^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)?)\)")
_ADDRESS = re.compile(rf"https?://\S{{{_LONGEST_ADDRESS},}}")
_BOLD = re.compile(r"\*\*|__")
_BETWEEN = re.compile(r"\s*[,|·•›>»/、]\s*|\s{2,}")
"""Between the entries of a menu in one line."""
_ITEM = re.compile(r"(\s*)(?:[-*•+]|\d{1,2}[.)、])\s+\S")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|([*_=~-])\1{2,}\s*$|\*\*[^*]+\*\*\s*[:：]?\s*$|\||```)")
_SENTENCE = re.compile(r"(?<!\.\.)[.!?。！？][\"'”’）)\]*_]*\s*$")
_LAST_WORD = re.compile(r".*\w", re.DOTALL)
_COLONS = ":："
_DIGIT = re.compile(r"\d")


def is_sentence(text: str) -> bool:
    """Whether a text ends as a sentence does; one that is cut off ("…") does not."""
    return _SENTENCE.search(text) is not None


def is_page(text: str) -> bool:
    """Whether a text has lines of data, or mostly entries and labels, as on a page, and few sentences."""
    lines = [line for line in text.splitlines() if line.strip()]
    data = sum(map(_is_data, lines))
    written = sum(1 for line in lines if is_sentence(line) or (_ITEM.match(line) and not _is_label(line)))
    return len(lines) >= _LEAST_LINES and (data >= _LEAST_DATA or 2 * written < len(lines))


def opening(text: str) -> str:
    """The beginning of a sentence, equal for those that a program, or an agent in each step, words alike."""
    return text[:_OPENING_CHARACTERS] if CJK.search(text) else " ".join(words(text)[:_OPENING_WORDS]).casefold()


def page_text(text: str) -> str:
    """The text of a page.

    Of data, values that are sentences, amounts and outcomes stay; menus, traces and long addresses go. Entries that
    stand below each other become a list, so that a name stays with what is said of it.
    """
    found, run = list[str](), list[str]()
    for line in [*_lines(text), ""]:
        indent = len(line) - len(line.lstrip())
        item = _ITEM.match(found[-1]) if found and not run else None
        if not line.strip() or not _is_entry(line):
            found += [*_listed(run), line]
            run = []
        elif item and indent > len(item[1]):
            found[-1] += f", {line.strip()}"
        else:
            run.append(line)
    return "\n".join(found)


def _is_entry(line: str) -> bool:
    return not (is_sentence(line) or _ITEM.match(line) or _HEADING.match(line) or _introduces(line))


def _introduces(line: str) -> bool:
    """Whether a colon follows the last word."""
    last = _LAST_WORD.match(line)
    return any(colon in line[last.end() if last else 0 :] for colon in _COLONS)


def _is_data(line: str) -> bool:
    return any(one.fullmatch(line) for one in (_MEMBER, _BRACKETS, _STRING)) or _TRACE.match(line) is not None


def _lines(text: str) -> Iterator[str]:
    """Lines without what only a program reads, and without menus in one line."""
    for line in text.splitlines():
        if member := _MEMBER.fullmatch(line):
            yield from _said(member["name"], member["value"].rstrip().removesuffix(","))
        elif not line.strip() or not _is_data(line):
            plain = _LINK.sub(_linked, line) if _HEADING.match(line) else _BOLD.sub("", _LINK.sub(_linked, line))
            entries = _BETWEEN.split(plain.partition(":")[2] or plain)
            if len(entries) < _LEAST_MENU or is_sentence(plain) or not all(map(_is_label, entries)):
                yield _ADDRESS.sub("", plain)


def _said(name: str, value: str) -> Iterator[str]:
    """What a member of a JSON object says to a reader; names with marks ("og:title") belong to the page, not to it."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return
    if isinstance(found, str) and len(words(found)) >= _LEAST_WORDS and is_sentence(found) and name.isidentifier():
        yield from sentences(found)
    elif (
        decides(name)
        and name.isidentifier()
        and isinstance(found, str | int | float)
        and found not in ("", True, False)
    ):
        yield f"{name}: {value.strip(chr(34))}."


def _linked(link: re.Match[str]) -> str:
    """The words of a link, with its address if that is short."""
    return link[0] if len(link[2]) < _LONGEST_ADDRESS else link[1]


def _listed(run: list[str]) -> Iterator[str]:
    """Entries that stand below each other as a list; none if they are a menu."""
    if len(run) >= _LEAST_MENU and all(map(_is_label, run)):
        return
    yield from run if len(run) == 1 else (f"- {line.strip()}" for line in run)


def _is_label(line: str) -> bool:
    if _DIGIT.search(line):
        return False
    return len(line.strip()) <= _MENU_CHARACTERS if CJK.search(line) else len(words(line)) <= _MENU_WORDS
