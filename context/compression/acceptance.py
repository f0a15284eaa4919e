"""Whether a text that a model wrote is accepted as a summary: it says something, shrinks, and meets its target.

`fidelity` scores what it keeps of its source.
"""

import re

from purser.context.conversation.languages import is_other_language

_NO_SUMMARY = re.compile(
    r"\W*(?:traceback\b|internal server error|an error (?:occurred|has)"
    r"|(?:(?:i['’]m|i am) )?sorry\b(?=[,.!]| (?:but|i)\b)|(?:i['’]m|i am) (?:unable|not able|afraid i)\b"
    r"|i (?:cannot|can['’]t|apologi[sz]e)\b|unfortunately,? i\b|as an? (?:ai|(?:large )?language model)\b"
    r"|抱歉|对不起|很遗憾|申し訳|죄송)",
    re.IGNORECASE,
)
_LONGEST_EXCUSE = 200
"""Characters of a text above which such an opening is part of what a summary tells."""
_ERROR = re.compile(r"\W*(?:\w*error|\w*exception)\W*[:\d]", re.IGNORECASE)
_LONGEST_ERROR = 60
"""The same for the name of an error, which the next words may explain."""
_PLACEHOLDER = re.compile(
    r"(?:[\[<{(][^\]>})\n]*+[\]>})]++|\.{3}|…|n/?a|none|tbd|todo|无|暂无|待补充|なし|없음)?[.。]?", re.IGNORECASE
)


def fault(text: str, tokens: int, *, most_tokens: int, tokens_before: int, language: str | None = None) -> str | None:
    """Returns a stable code that says why a text is no valid summary, or `None` if it is valid.

    The language check may load a model: call it off the event loop.

    Args:
        text: the summary without its header.
        tokens: tokens of the message that shows it.
        most_tokens: upper bound of that message.
        tokens_before: tokens of the messages that it replaces.
        language: ISO 639 code of the conversation's language, if known.
    """
    if not text.strip():
        return "empty"
    if tokens >= tokens_before:
        return "longer"
    if tokens > most_tokens:
        return "over_target"
    if _is_excuse(text.strip()):
        return "error_text"
    if all(map(_is_unfilled, text.splitlines())):
        return "template"
    return "other_language" if language is not None and is_other_language(text, language) else None


def _is_excuse(text: str) -> bool:
    """Whether a short text is an error or a refusal."""
    short, shorter = len(text) <= _LONGEST_EXCUSE, len(text) <= _LONGEST_ERROR
    return bool((short and _NO_SUMMARY.match(text)) or (shorter and _ERROR.match(text)))


def _is_unfilled(line: str) -> bool:
    """Whether a line is a heading, or a label followed by a placeholder, as in an unfilled template."""
    body = line.lstrip(" \t>*_-•·").rstrip(" \t*_")
    if body.startswith("#") or body.endswith((":", "：")):
        return True
    _, _, value = body.replace("：", ":").rpartition(":")
    return _PLACEHOLDER.fullmatch(value.strip(" *_")) is not None
