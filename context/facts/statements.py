"""Patterns of statements in text: the owner of a value, preferences, refusals and decisions."""

import re
from collections.abc import Iterator

from purser.context.facts.values import Kind

_OWNED = re.compile(
    r"(?:\b(?P<owner>my|our|your|the|his|her|their|[A-Z]\w+['’]s) (?P<noun>(?:[\w-]+ ){1,4}?)"
    r"(?:is|are|was|were|will be|has been|becomes?|changed to|moved to|set to|=|:)"
    r"(?: (?:now|about|around|at|on|for|scheduled for|set to|changed to|moved to))?\s*[\"“'(#]*"
    r"|(?P<whose>我们?的|你们?的|您的|他的|她的)(?P<what>[\u4e00-\u9fff]{1,6}?)(?:现在)?(?:是|为|改成|改为|改到|：|:)\s*)$",
    re.IGNORECASE,
)
_OTHERS = frozenset({"your", "你的", "你们的", "您的"})
_SELVES = frozenset({"my", "our", "我的", "我们的"})

_CLAUSE = r"[^.,;!?。，；！？\n]"
_END = r"[.,;!?。，；！？]|$"
_SAID = r"[^，。！？、,.!?\s]"
_OBJECT = rf"({_CLAUSE}{{2,}}?)(?= (?:because|since|and|but|when|while|so|as|if|[-–—]) |{_END})"
_VAGUE = (
    r"(?!(?:it|that|this|these|those|them|you|your|him|her|how|what|when|where|to (?:see|hear|know)|the way|seeing"
    r"|hearing|knowing|a lot|so|and|but|me|us)\b)"
)
_PREFERENCES = (
    r"\bI (?:(?:\w+ly|also|always|still|just|do|don['’]t|do not) )*"
    rf"(?:prefer|like|love|enjoy|hate|dislike|adore|can['’]t stand|cannot stand) {_VAGUE}{_OBJECT}",
    rf"\bI(?:['’]m| am) (?:(?:\w+ly|also|not|very) )*(?:allergic to|a (?:big |huge )?fan of|into) {_OBJECT}",
    r"\bI(?:['’]m| am) (?:(?:a|also|\w+ly) )*(vegan|vegetarian|lactose intolerant|gluten[- ]free|diabetic)\b",
    rf"\bI(?:['’]d| would) (?:much |\w+ly )*(?:prefer|rather) {_OBJECT}",
    rf"我(?:们)?[^，。！？]{{0,6}}?(?:喜欢|爱吃|爱喝|偏好|讨厌|不吃|不喝|受不了)(?!的)({_SAID}{{1,20}})",
    rf"我?对({_SAID}{{1,12}}?)过敏",
    rf"({_SAID}{{1,20}})(?:が|は)(?:大好き|好き|嫌い|苦手)",
    rf"({_SAID}{{1,12}})アレルギー",
    rf"({_SAID}{{1,12}}) (?:(?:정말|너무|아주|제일|가장) )?(?:좋아|싫어|못 먹|알레르기)[가-힣]*",
)
_IDLE = (
    r"(?!(?:worry|forget|know|you|hesitate|give|be|get|mention|miss|stop|have|let|even|think|say|lose|thank|need|want"
    r"|see|feel|really|sweat)\b)"
)
_NEGATIONS = (
    r"(?:^|(?<=[,;:] )|(?<=\band )|(?<=\bbut )|(?<=\bso )|(?<=\bplease ))"
    rf"(?:[Pp]lease )?(?:[Nn]ever|[Dd]o not|[Dd]on['’]t) {_IDLE}\w+{_CLAUSE}*",
    r"\b(?:must not|mustn['’]t|may not|cannot be|can['’]t be|(?:is|are) not (?:allowed|permitted)|no longer"
    rf"|under no circumstances){_CLAUSE}+",
    r"\bI (?:never|do not|don['’]t|won['’]t|cannot|can['’]t) "
    rf"(?:eat|drink|smoke|want(?! to)|need|own|fly|use|drive|accept|work|speak|take)\b{_CLAUSE}+",
    rf"(?:请)?(?:不要|别|禁止|不得|不可以|请勿|不许|不想|绝不)(?![紧急的人]|担心|客气|着急){_SAID}{{2,30}}",
    rf"{_SAID}{{2,30}}(?:ないでください|しないで|禁止|てはいけな)",
    r"\S{1,20} ?지 (?:마|말)[가-힣]*|\S{1,20} 금지",
)
_DECISIONS = (
    r"\b(?:I|[Ww]e)(?:['’](?:ve|ll|d)| have| had| will)?(?: (?:finally|just|both|all))? "
    rf"(?:decided|agreed|chose|settled|opted|picked|go with|going with|went with)\b{_CLAUSE}+",
    rf"\b[Ll]et['’]s (?:go with|use|book|take|choose)\b{_CLAUSE}+",
    rf"(?:我们?|咱们)?(?:决定|选定|商定|定了){_SAID}{{2,30}}",
    rf"{_SAID}{{2,30}}(?:ことにしました|ことにした|に決めました|に決めた)",
    r"\S{1,20} ?(?:하기로 했|로 결정)[가-힣]*",
)
_STATEMENTS = tuple(
    (kind, re.compile("|".join(patterns)))
    for kind, patterns in (
        (Kind.PREFERENCE, _PREFERENCES),
        (Kind.NEGATION, _NEGATIONS),
        (Kind.DECISION, _DECISIONS),
    )
)


def statements(sentence: str) -> Iterator[tuple[Kind, re.Match[str]]]:
    """Yields at most one preference, one refusal and one decision of a sentence; a question has none."""
    if not sentence.endswith(("?", "？")):
        for kind, pattern in _STATEMENTS:
            if match := pattern.search(sentence):
                yield kind, match


def owner(before: str, speaker: str) -> tuple[str, str] | None:
    """Finds subject and relation in the words before a value, such as `my budget is` or `the deadline moved to`.

    Args:
        before: the sentence up to the value.
        speaker: name or role of the speaker.
    """
    match = _OWNED.search(before)
    if match is None:
        return None
    noun = (match["noun"] or match["what"] or "").strip().lower()
    whose = (match["owner"] or match["whose"] or "").lower()
    if whose in _SELVES:
        return speaker, noun
    if whose in _OTHERS:
        return ("user" if speaker == "assistant" else "assistant" if speaker == "user" else "you"), noun
    return (noun, "is") if whose == "the" else (whose.removesuffix("'s").removesuffix("’s"), noun)


def about(match: re.Match[str]) -> str:
    """The object of a preference, in lower case."""
    return " ".join(next(filter(None, match.groups()), match[0]).split()).lower()
