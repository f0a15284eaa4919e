"""Values with a label before them: `password: x`, `"api_key": "x"`, `DB_PASSWORD=x`, and what is code instead."""

import re

from purser.context.redaction.findings import Found

_IS = "is|was|=|ist|lautet|war|es|era|est|était|é|è|jest|это"
_LABELLED = r"""
    (?:%s)
    (?:[ ](?:for|to|of|do|da|del|de|du|für|vom|от|для|per)[ ]
      (?:(?:the|das|den|la|el|le|my|our)[ ])?[^\W\d][\w.-]{0,24}){0,2}
    (?P<sep>\\?["'`]?[)*_\]]{0,3}[ ]{0,3}(?:=>|:=|:|=(?!=)|->|→)[*_]{0,3}[ ]{0,3}
      |[ ](?P<loose>to|-)[ ]|[ ](?P<later>will[ ]be|has[ ]been[ ](?:set|changed)[ ]to)[ ]
      |[ ](?:IS)[ ](?:now[ ]|still[ ])?(?:set[ ]to[ ])?:?[ ]?|[ ]?(?:是|为|為|改为|改成
      |は|[는은가이를을])[ ]?:?[ ]?
      |\\?["'],?\s{0,8}\\?["']?value\\?["']?[ ]?[:=][ ]?|\s{1,20}value:[ ]|(?<=[A-Za-z])>(?=[^<>\s]{1,100}</))
    (?!\\?["'`][ ]?[),;+\]}][^"'`\n]{0,200}(?:\n|\Z))  # such a quote ends the label: input("Password: ")
    (?P<value>\\?(?P<quote>["'`])(?P<quoted>(?>(?:(?!\\?(?P=quote))[^\n])+))|(?>(?:[^\s"'`,;&。，；<]|<(?!/)
      |&(?!\w{1,30}=))+))
    (?=(?P<rest>[ ]{0,3}[^\s,;}"'`<])?)
""".replace("IS", _IS)
_TEMPLATE = re.compile(
    r"\$\{|\$[A-Z_]+\Z|\$\(|\{+[^}]*\}+\Z|<[^>]*>?\Z|%\(?\w|\[[^\]]*\]?\Z|[*•.x_-]+\Z|https?:|/|\\\Z"
)
_CALL = re.compile(r"[A-Za-z_][\w.:]*[(\[{]")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")


def labelled(labels: str) -> re.Pattern[str]:
    """A pattern for a label and its value.

    Its groups are `sep`, which is also `loose` or `later` if it is weak, `value`, `quote`, `quoted`, and the `rest` of
    the line.

    Args:
        labels: alternatives of a verbose pattern.
    """
    return re.compile(_LABELLED % labels, re.VERBOSE | re.IGNORECASE)


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
