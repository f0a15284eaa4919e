"""Detectors of credentials: keys and tokens by their format, passwords and secrets by the label before them."""

import re
from collections.abc import Iterator

from purser.context.redaction.findings import TAKEN, Found

_PRIVATE_KEY = r"""-----BEGIN[ ][A-Z ]{0,30}PRIVATE[ ]KEY[A-Z ]{0,10}-----
    (?:(?:[A-Za-z0-9+/=\s\\:,."]|-(?!----))*+-----END[ A-Z]{0,50}-----|(?:[\s\\"]*+[A-Za-z0-9+/=]{20,}+)*+)"""
_FORMS = (
    r"sk-[A-Za-z0-9_-]{16,}+",  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{16,}+",  # Stripe
    r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|ANVA)[A-Z0-9]{12,}+",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{20,}+|glpat-[A-Za-z0-9_-]{16,}+",  # GitHub, GitLab
    r"xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{16,}+|hooks\.slack\.com/services/[A-Za-z0-9/]{16,}+",  # Slack
    r"AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{16,}+|GOCSPX-[A-Za-z0-9_-]{16,}+",  # Google
    r"(?:LTAI|AKID|AKLT)[A-Za-z0-9]{12,}+",  # Alibaba, Tencent, Volcengine
    r"SG\.[A-Za-z0-9_-]{16,40}+\.[A-Za-z0-9_-]{16,}+|(?:SK|AC|key-)[0-9a-f]{32}",  # SendGrid, Twilio, Mailgun
    r"(?:hf|gsk|r8|nvapi|pplx|xai|npm|dckr_pat|lin_api|ntn|tvly|sntrys)[_-][A-Za-z0-9_-]{20,}+",  # models, tools
    r"pypi-[A-Za-z0-9_-]{16,}+|hv[sb]\.[A-Za-z0-9_-]{16,}+|ATATT3[A-Za-z0-9_=-]{16,}+|PMAK-[A-Za-z0-9-]{16,}+",
    r"do[por]_v1_[0-9a-f]{32,}+|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}+|dapi[0-9a-f]{32}|sq0[a-z]{3}-[\w-]{16,}+",
    r"\d{8,10}:AA[A-Za-z0-9_-]{30,}+|purser_[A-Za-z0-9_-]{40,}+",  # Telegram, ours
    # Only from the start of a run, so that each run is scanned once.
    r"(?<![_-])eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{6,}+(?:\.[A-Za-z0-9_-]*+)*+",  # JSON Web Token
    r"(?<![_-])[MNO][A-Za-z0-9_-]{22,30}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+",  # Discord
)
_KEYS = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_FORMS)}|{_PRIVATE_KEY})", re.VERBOSE)
_AUTHORIZATION = re.compile(
    r"(?<![A-Za-z0-9_])(?:bearer|basic)\s{1,3}(?P<value>[A-Za-z0-9._~+/=-]{12,}+)", re.IGNORECASE
)

_KEY_LABEL = r"""(?:api|access|auth|app|private|encryption|signing|session|subscription|account|shared[ ]?access)
    [ _-]?key(?:[ _-]?id)?|(?:[a-z]{2,10}[_-])?token|(?:api|访问|接口|授权)[ ]?(?:密钥|秘钥|令牌)|令牌"""
_SECRET_LABEL = r"""(?:password|passwd|passphrase|passcode|pwd|secret(?:[ _-]?(?:key|token|value|code))?)\d?
    |密码|密碼|口令|密钥|秘钥|暗号|パスワード|비밀번호|contraseña|mot[ ]de[ ]passe|passwort|kennwort|senha|пароль"""
_LABELLED = r"""
    (?:%s)
    (?P<sep>\\?["'`]?[)*_\]]{0,3}[ ]{0,3}(?:=>|:=|:|=(?!=)|->)[*_]{0,3}[ ]{0,3}
      |[ ](?:is|was|=)[ ](?:now[ ])?(?:set[ ]to[ ])?:?[ ]?|[ ]?(?:是|为|為|改为|改成|は)[ ]?:?[ ]?)
    (?P<value>\\?(?P<quote>["'`])(?P<quoted>(?:(?!\\?(?P=quote))[^\n]){1,300})|(?:[^\s"'`,;&。，；]|&(?!\w{1,30}=)){1,300}+)
    (?=(?P<rest>[ ]{0,3}[^\s,;}"'`])?)
"""
_LABELLED_KEY = re.compile(_LABELLED % _KEY_LABEL, re.VERBOSE | re.IGNORECASE)
_LABELLED_SECRET = re.compile(_LABELLED % _SECRET_LABEL, re.VERBOSE | re.IGNORECASE)
_URL_PASSWORD = re.compile(r"://[^\s/:@\"'<>\\]{0,100}:(?P<value>[^\s/@\"'<>\\]{1,300}+)@")

_TEMPLATE = re.compile(
    r"\$\{|\$[A-Z_]+\Z|\$\(|\{+[^}]*\}+\Z|<[^>]*>?\Z|%\(?\w|\[[^\]]*\]?\Z|[*•.x_-]+\Z|https?:|/|\\\Z"
)
_CALL = re.compile(r"[A-Za-z_][\w.:]*[(\[{]")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_WORD = re.compile(r"[^\W\d_]+\Z")
_STRONG = re.compile(r"[\d!@#$%^*+=~]")
_NO_SECRET = frozenset(
    re.findall(
        r"\w+",
        """none null nil true false undefined str string bytes text bool boolean int integer number object value type
        empty required optional unknown invalid incorrect wrong correct missing changed reset expired hidden redacted
        masked yes not unset default example placeholder management authentication protected""",
    )
)
_SELF_NAMED = re.compile(r"pass|pwd|secret|token|key|密码|密钥", re.IGNORECASE)


def find_url_passwords(view: str) -> Iterator[Found]:
    """Finds passwords in URLs such as `postgres://user:password@host`, which otherwise look like e-mail addresses."""
    for match in _URL_PASSWORD.finditer(view):
        if not _TEMPLATE.match(match["value"]):
            yield _found(match, "value", "SECRET")


def find_keys(view: str) -> Iterator[Found]:
    """Finds API keys, JSON Web Tokens, cloud keys, private keys and bearer tokens."""
    for match in _KEYS.finditer(view):
        if _is_random(match[0]):
            yield Found(match.start(), match.end(), "API_KEY", match[0])
    for match in _AUTHORIZATION.finditer(view):
        if _is_random(match["value"]):
            yield _found(match, "value", "API_KEY")


def find_labelled_keys(view: str) -> Iterator[Found]:
    """Finds values labelled as keys or tokens, if they contain letters and digits."""
    for match in _LABELLED_KEY.finditer(view):
        group = "quoted" if match["quote"] else "value"
        value = match[group].rstrip(".:)]}")
        is_code = _TEMPLATE.match(value) or _CALL.match(value) or _NAME.match(value)
        if len(value) >= 8 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and not is_code:
            yield Found(match.start(group), match.start(group) + len(value), "API_KEY", value)


def find_secrets(view: str) -> Iterator[Found]:
    """Finds labelled passwords and secrets in English, Chinese and other languages, but neither prose nor code."""
    for match in _LABELLED_SECRET.finditer(view):
        if match["quote"]:
            if _is_quoted_secret(match["quoted"]):
                yield _found(match, "quoted", "SECRET")
        elif _is_bare_secret(value := match["value"].rstrip(".:?)]}"), match["sep"], alone=not match["rest"]):
            yield Found(match.start("value"), match.start("value") + len(value), "SECRET", value)


def _found(match: re.Match[str], group: str, label: str) -> Found:
    return Found(match.start(group), match.end(group), label, match[group])


def _is_random(value: str) -> bool:
    """Whether this may be a key rather than a hyphenated name such as `sk-learn-contrib`."""
    return any(map(str.isdigit, value)) or (value != value.lower() and value != value.upper())


def _is_quoted_secret(value: str) -> bool:
    if not value.strip(TAKEN + " ") or _TEMPLATE.match(value) or value.lower() in _NO_SECRET:
        return False
    return bool(_STRONG.search(value)) or not _SELF_NAMED.search(value)


def _is_bare_secret(value: str, sep: str, *, alone: bool) -> bool:
    """Args:
    value: text after the label, up to a space.
    sep: separator between label and value.
    alone: whether nothing else follows on the line.
    """
    assigned = "=" in sep and sep != "="
    if not value.strip(TAKEN) or _TEMPLATE.match(value) or _CALL.match(value) or (assigned and _NAME.match(value)):
        return False
    if _STRONG.search(value.rstrip("!")):
        return len(value) >= 4
    # A plain word is a secret only where label and word have a line to themselves: `password: swordfish`.
    labelled = ":" in sep or sep == "="
    is_word = _WORD.match(value) and value.isascii() and value.lower() not in _NO_SECRET
    return bool(labelled and alone and is_word and len(value) >= 6 and not _SELF_NAMED.search(value))
