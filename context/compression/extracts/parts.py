"""Parts of a long message that say something, for extracts that have no room for the whole."""

import re
from collections.abc import Iterator, Sequence

from purser.context.compression.extracts.idle import is_idle
from purser.context.conversation.wording import CJK, sentences

_LONGEST_BLOCK = 300
"""Characters up to which a list stays in one part."""
_LONGEST_HEAD = 60
_SHORTEST = 12
"""Characters up to which a sentence of a long message says nothing alone."""

_ANNOUNCED = re.compile(
    r"(?:(?:ok(?:ay)?|now|next|first(?:ly)?|then|finally)[,:]? |(?:since|to (?:address|do|resolve|solve)) [^,.]*, )*"
    r"(?:let['’]s|let (?:me|us)|(?:i|we)(?:['’]ll| will|['’](?:m|re) going to| (?:am|are) going to)) "
    r"(?:\w+ly |now |first |next |then |also |(?:start|begin|proceed|continue|go ahead)(?: by| with| and| to)? )*"
    r"(?:analy[sz]|ask|brows|check|collect|compar|conduct|cross-|examin|execut|explor|fetch|find|gather|identif|inspect"
    r"|investigat|look|perform|provid|re-?run|retriev|review|run|search|see|solv|start|begin|proceed|summari[sz]|test|try"
    r"|validat|verif|visit)"
    r"|terminate$",
    re.IGNORECASE,
)
_DONE = re.compile(r"i (?:clicked|typed|scrolled|pressed|navigated|opened the (?:page|url|link))\b", re.IGNORECASE)
"""A step in a browser, whose outcome follows."""
_NUMBER = re.compile(r"\d")
_TEMPLATE = re.compile(
    r"\[(?:your|my|the|insert|name|date|company|recipient|hiring)\b[^\]\n]{0,40}\]|\{\{[^{}\n]{0,200}\}\}",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)、])\s+")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|([*_=~-])\1{2,}\s*$|\*\*[^*]+\*\*\s*[:：]?\s*$)")
_MARKS = re.compile(r"[*_`#]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")


def is_announced(text: str) -> bool:
    """Whether a sentence of an agent only tells a step, whose outcome follows; an announced number is never idle."""
    return bool(_DONE.match(text) or (_ANNOUNCED.match(text) and not _NUMBER.search(text)))


def parts(text: str) -> Iterator[str]:
    """Splits a long message: sentences, and lists with the line that introduces them.

    Headings, code, greetings and templates with blanks are left out.
    """
    head, items, fenced = "", list[str](), False
    for line in [*text.splitlines(), ""]:
        plain = " ".join(_MARKS.sub("", line).split())
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or _TEMPLATE.search(line):
            continue
        elif _HEADING.match(line) or plain.endswith((":", "：")):
            yield from _block(head, items)
            head, items = _ITEM.sub("", plain, count=1).rstrip(":： ") if len(plain) <= _LONGEST_HEAD else "", []
        elif _ITEM.match(line):
            items.append(_ITEM.sub("", plain, count=1))
        elif plain:
            yield from _block(head, items)
            head, items = "", []
            yield from (one for one in sentences(line) if not is_idle(one) and _says_something(one))
    yield from _block(head, items)


def _says_something(sentence: str) -> bool:
    return len(sentence) > _SHORTEST or CJK.search(sentence) is not None


def _block(head: str, items: Sequence[str]) -> Iterator[str]:
    """A list in one part, or in several if it is long; each begins with the line that introduces it."""
    before = f"{head}: " if head else ""
    block = ""
    for text in (sentence.rstrip(".;,") for item in items for sentence in sentences(item)):
        longer = f"{block}; {text}" if block else before + text
        if block and len(longer) > _LONGEST_BLOCK:
            yield block
            longer = before + text
        block = longer
    if block:
        yield block
