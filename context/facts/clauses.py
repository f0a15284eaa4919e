"""The clauses of a long sentence that show a value so that it can be understood alone."""

import re

_LONGEST_SENTENCE = 90
"""Maximum characters of a sentence that is shown whole."""
_LONGEST_CLAUSES = 180
"""Characters up to which a clause is joined with those that it depends on."""
_SHORTEST = 30
"""Characters up to which a clause is joined with the one before it."""
_END = re.compile(r"(?<=[,;:]) | (?=[–—-] )|(?<=[，；：])| (?=(?:but|because|which|while|aber|weil|pero|porque|mais) )")
_JOINING = re.compile(
    r"(?:and|but|or|so|und|aber|oder|sondern|y|e|pero|o|et|mais|ou|donc)\s+"
    r"|(?:而且|但是|可是|不过|所以|然后|并且|或者)[，,]?",
    re.IGNORECASE,
)
_CONTINUES = re.compile(
    r"(?:nor|because|which|who|whose|that|than|is|are|was|were|has|have|had|will|(?!(?-i:[A-Z]))\w{2,}ing"
    r"|weil|dass|sodass|war|waren|ist|sind|hat|porque|que|es|son|era|fue|ha|car|parce que|qui|dont|est|sont|était)\b"
    r"|[的地得]|因为",
    re.IGNORECASE,
)
"""The beginning of a clause without subject, or of one that says why or which."""
_OPENS = re.compile(
    r"(?:[A-Z]\w+ing|in|at|during|since|after|before|with|as|if|when|while|for|by|from|though|although"
    r"|während|seit|nach|vor|wenn|als|bei|falls|obwohl|mit|durante|en|desde|cuando|si|aunque|después|antes|con"
    r"|pendant|depuis|quand|lorsque|bien que|après|avant|avec)\b|(?:如果|虽然|自从|当)",
    re.IGNORECASE,
)
"""The beginning of a clause after which the main clause follows."""
_OPENS_END = re.compile(r"(?:的?时候|以后|之后|之前|以前|的话)[，,]?$")
_TURNS = re.compile(
    r"(?:but|however|though|yet|aber|jedoch|doch|pero|sin embargo|mais|cependant)\b|但|不过|可是|然而|却", re.IGNORECASE
)
"""The beginning of a clause that turns what was said before."""
_BULLET = re.compile(r"^[-*•+]\s+")
_QUOTES = '"“”'
_EDGES = " ,;:，；：–—-"


def around(match: re.Match[str]) -> str:
    """The sentence of a match, or of a long one the clauses that it touches.

    A clause is joined with those without which it says nothing, or something else: a short one with the one before it,
    an opening one ("after the move, …") with its main clause, and any with a "but" that follows.
    """
    sentence = match.string
    if len(sentence) <= _LONGEST_SENTENCE:
        return _BULLET.sub("", sentence)
    ends = [0, *(found.end() for found in _END.finditer(sentence)), len(sentence)]
    last = next(index for index, end in enumerate(ends) if end >= match.end())
    first = max(index for index, end in enumerate(ends) if end <= match.start())
    while first > 0 and _needs_previous(sentence, ends[first], ends[last]):
        if ends[last] - ends[first - 1] > _LONGEST_CLAUSES:
            break
        first -= 1
    while last + 1 < len(ends) and ends[last + 1] - ends[first] <= _LONGEST_CLAUSES:
        opening = last == first + 1 and _is_opening(sentence[_begin(sentence, ends[first]) : ends[last]])
        if not opening and not _TURNS.match(sentence[ends[last] :].lstrip(_EDGES)):
            break
        last += 1
    return _trimmed(sentence[_begin(sentence, ends[first]) : ends[last]])


def _begin(sentence: str, at: int) -> int:
    """Where a clause begins, without the word that joins it to the one before."""
    joined = _JOINING.match(sentence, at)
    return joined.end() if joined else at


def _needs_previous(sentence: str, start: int, end: int) -> bool:
    return end - start < _SHORTEST or _CONTINUES.match(sentence, _begin(sentence, start)) is not None


def _is_opening(clause: str) -> bool:
    return (_OPENS.match(clause) or _OPENS_END.search(clause)) is not None


def _trimmed(text: str) -> str:
    """Without punctuation and lone quotes at its edges."""
    text = text.strip(_EDGES)
    return text.strip(_QUOTES).strip() if sum(map(text.count, _QUOTES)) == 1 else text
