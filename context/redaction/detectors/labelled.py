"""Values with a label before them: `password: x`, `"api_key": "x"`, `DB_PASSWORD=x`, and what is code instead."""

import re

from purser.context.redaction.findings import Found

_IS = "is|was|=|ist|lautet|war|es|era|est|était|é|è|jest|это|है"
OF = (
    r"(?:[ ](?:for|to|of|do|da|dell?|della|de|du|für|vom|von|zum|от|для|per|van|voor|till?|dla)[ ]"
    r"(?:(?:the|das|den|dem|la|el|le|lo|il|o|a|de|het|my|our)[ ])?[^\W\d][\w.-]{0,24}"
    rf"(?:[ ](?!(?:{_IS})[ ])[^\W\d][\w.-]{{0,24}}(?=[ ](?:{_IS})[ ]))?){{0,2}}"
)
"""What a label is for: `password for the router`, `PIN of my card`."""
_LABELLED = r"""
    (?:%s)
    (?:[ ](?:tempor|provis|actuel|actual|attual|initial|inicial|inizial|nuev|nuov|nov)[^\W\d_]{0,8})?  # adjectives
    OF
    (?:[ ][(\[](?P<remark>[^()\[\]\n]{1,24})[)\]])?
    (?P<sep>\\?["'`]?[)*_\]]{0,3}[ ]{0,3}(?:=>|:=|:|=(?!=)|->|→)[*_]{0,3}[ ]{0,3}
      |[ ](?P<loose>to|-)[ ]
      |[ ](?P<later>will[ ]be|(?:(?:was|is|has[ ]been)[ ](?:now[ ])?)?(?:set|changed|reset|updated)[ ]to)[ ]
      |[ ](?:IS)[ ](?:now[ ]|still[ ])?(?:set[ ]to[ ])?:?[ ]?|[ ]?(?:是|为|為|改为|改成
      |は|[는은가이를을])[ ]?:?[ ]?
      |\\?["'],?\s{0,8}\\?["']?value\\?["']?[ ]?[:=][ ]?|\s{1,20}value:[ ]
      |["']\s{0,4}\{\s{0,20}default\s{0,20}=\s?  # a variable of Terraform
      |(?<=[A-Za-z])
        (?:[ ][\w:-]{1,40}="[^"<>\n]{0,60}"){0,3}>(?=[^<>\s]{1,100}</))
    (?!\\?["'`][ ]?[),;+\]}][^"'`\n]{0,200}(?:\n|\Z))  # such a quote ends the label: input("Password: ")
    (?!\w{0,12}(?:token|key|password|passwd|pwd|secret)=)  # the label of the value follows
    (?P<value>\\?(?P<quote>["'`])(?P<quoted>(?>(?:(?!\\?(?P=quote))[^\n])+))|(?>(?:[^\s"'`,;&。，；<]|<(?!/)
      |&(?!\w{1,30}=))+))
    (?=(?P<rest>[ ]{0,3}(?![\w.-]{1,40}=)[^\s,;}"'`<])?)
""".replace("IS", _IS).replace("OF", OF)
_BEFORE_CJK = re.compile(r"[!-~]{4,}(?=[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af])")
_TEMPLATE = re.compile(
    r"\$\{|\$[A-Z_]+\Z|\$\(|\{+[^}]*\}+\Z|<[^>]*>?\Z|%\(?\w|\[[^\]]*\]?\Z|[*•.x_-]+\Z|https?:|/|\\\Z"
)
_CALL = re.compile(r"[A-Za-z_][\w.:]*[(\[{]")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")

_LETTER = re.compile(r"[^\W\d_]")


def has_letter(view: str, start: int, end: int) -> bool:
    """Whether a part has a letter: without one, no label has to be looked for, which takes far longer."""
    return bool(_LETTER.search(view, start, end))


def labelled(labels: str) -> re.Pattern[str]:
    """A pattern for a label and its value.

    Its groups are `sep`, which is also `loose` or `later` if it is weak, `value`, `quote`, `quoted`, and the `rest` of
    the line.

    Args:
        labels: alternatives of a verbose pattern.
    """
    return re.compile(_LABELLED % labels, re.VERBOSE | re.IGNORECASE)


def bare(match: re.Match[str]) -> str:
    """The value without quotes: without the marks that end a sentence, and up to Chinese, Japanese or Korean."""
    value = match["value"].rstrip(".:?)]}")
    before_cjk = _BEFORE_CJK.match(value)
    return before_cjk[0] if before_cjk else value


def found_in(match: re.Match[str], group: str, label: str) -> Found:
    """The finding of a group."""
    return Found(match.start(group), match.end(group), label, match[group])


def is_template(value: str) -> bool:
    """Whether a value is to be filled in, as `${NAME}` and `<password>`, or is masked, as `****`."""
    return bool(_TEMPLATE.match(value))


def is_call(value: str) -> bool:
    """Whether a value begins with a call or a subscript: `getpass(`."""
    return bool(_CALL.match(value))


def is_dotted_name(value: str) -> bool:
    """Whether a value is a dotted name: `settings.key`."""
    return bool(_NAME.match(value))


def is_code(value: str) -> bool:
    """Whether a value is a template, a call or a dotted name."""
    return is_template(value) or is_call(value) or is_dotted_name(value)
