"""Parts of a long message that say something, for extracts that have no room for the whole."""

import re
from collections.abc import Iterator, Sequence

from purser.context.conversation.wording import CJK, sentences

_LONGEST_BLOCK = 300
"""Characters up to which a list stays in one part."""
_LONGEST_HEAD = 60
_SHORTEST = 12
"""Characters up to which a sentence of a long message says nothing alone."""

_IDLE = re.compile(
    r"(?:(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|night)|thank you|thanks?"
    r"|you['’]re (?:very )?welcome|welcome"
    r"|great|perfect|sure|certainly|of course|absolutely|got it|ok(?:ay)?|no problem|sounds good|bye|goodbye|see you"
    r"|take care|have a (?:\w+ )+|safe travels|best regards|sincerely|i hope th(?:is|at) helps|hope th(?:is|at) helps"
    r"|(?:please )?(?:let me know if (?:you (?:have|need)|there['’]?s?)|feel free to|don['’]t hesitate to)[^.!?\n]*"
    r"|is there anything else[^.!?\n]*|how (?:can|may) i (?:help|assist)[^.!?\n]*"
    r"|(?:please )?(?:hold on|bear with me|one moment)(?: please)?"
    r"|i['’]?(?:m| am) (?:happy|glad|here) to (?:help|assist)[^.!?\n]*"
    r"|if you (?:have|need) any (?:more|other|further|additional|questions|help|assistance)[^.!?\n]*"
    r"|(?:so much|very much|for (?:your|the) \w+|there|again|tomorrow|then|everyone|all|then))"
    r"|你好呀?|您好|嗨|没关系|没事|真是|真的|非常|十分|太|辛苦(?:你|您)?了?|麻烦(?:你|您)?了?|知道了|明白了?|记下了?|收到|行|可以|嗯嗯|"
    r"谢谢(?:你|您|啦|了|啊)*|多谢|(?:非常)?感谢(?:你|您)?|不用?客气|不用谢|再见|拜拜|好的|好呀|好吧|嗯+|明天见|晚安|早上好|(?:我)?没(?:有)?(?:其他|别的|什么)*(?:问题|事情?|需要)了?|不好意思|麻烦(?:你|您)了"
    r"|祝您[^。！]*|很高兴(?:为您服务|认识你)|こんにちは|ありがとう(?:ございます)?|さようなら|はい|おはよう|안녕(?:하세요)?|감사합니다|네)"
    r"[\s,.!?~，。！？～、:;)(-]*",
    re.IGNORECASE,
)
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


def is_idle(text: str) -> bool:
    """Whether a text consists of greetings, thanks and offers of help, or of nothing; a number is never idle."""
    at = 0
    while match := _IDLE.match(text, at):
        at = match.end()
    return not text[at:].strip(" .,!?。，！？😊🙂👋") and not _NUMBER.search(text)


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
