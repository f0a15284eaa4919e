"""Detectors of keys and tokens: by their format, by the label before them, and as cookies of sessions."""

import re
from collections.abc import Iterator

from purser.context.redaction.detectors.labelled import found_in, is_code, labelled
from purser.context.redaction.findings import Found

_PRIVATE_KEY = r"""-----BEGIN[ ][A-Z ]{0,30}PRIVATE[ ]KEY[A-Z ]{0,10}-----
    (?:(?>(?:[A-Za-z0-9+/=\s\\:,."]|-(?!----))*)-----END[ A-Z]{0,50}-----|(?>(?:[\s\\"]*+[A-Za-z0-9+/=]{20,}+)*))"""
_FORMS = (
    r"sk-[A-Za-z0-9_-]{16,}+",  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{16,}+",  # Stripe
    r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|ANVA)[A-Z0-9]{12,}+",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{20,}+|glpat-[A-Za-z0-9_-]{16,}+",  # GitHub, GitLab
    r"xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{16,}+|hooks\.slack\.com/services/[A-Za-z0-9/]{16,}+",  # Slack
    r"AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{16,}+|GOCSPX-[A-Za-z0-9_-]{16,}+",  # Google
    r"(?:LTAI|AKID|AKLT)[A-Za-z0-9]{12,}+",  # Alibaba, Tencent, Volcengine
    r"SG\.[A-Za-z0-9_-]{16,40}+\.[A-Za-z0-9_-]{16,}+|(?:SK|AC|key-)[0-9a-f]{32}",  # SendGrid, Twilio, Mailgun
    r"(?:hf|gsk|r8|glsa|nvapi|pplx|xai|npm|dckr_pat|lin_api|ntn|tvly|sntrys)[_-][A-Za-z0-9_-]{20,}+",  # models, tools
    r"pypi-[A-Za-z0-9_-]{16,}+|hv[sb]\.[A-Za-z0-9_-]{16,}+|ATATT3[A-Za-z0-9_=-]{16,}+|PMAK-[A-Za-z0-9-]{16,}+",
    r"do[por]_v1_[0-9a-f]{32,}+|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}+|dapi[0-9a-f]{32}|sq0[a-z]{3}-[\w-]{16,}+",
    r"\d{8,10}:AA[A-Za-z0-9_-]{30,}+|purser_[A-Za-z0-9_-]{40,}+",  # Telegram, ours
    # Only from the start of a run, so that each run is scanned once.
    r"(?<![_-])eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{6,}+(?>(?:\.[A-Za-z0-9_-]*+)*)",  # JSON Web Token
    r"(?<![_-])[MNO][A-Za-z0-9_-]{22,30}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+",  # Discord
)
_KEYS = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_FORMS)}|{_PRIVATE_KEY})", re.VERBOSE)
_AUTHORIZATION = re.compile(
    r"(?<![A-Za-z0-9_])(?:bearer|basic|(?<=authorization: )(?:token|apikey|key))\s{1,3}"
    r"(?P<value>[A-Za-z0-9._~+/=-]{12,}+)",
    re.IGNORECASE,
)
_URL_KEY = re.compile(r"://(?P<value>[A-Za-z0-9_-]{20,}+)@")

KEY_LABEL = r"""(?:api|access|auth|app|private|encryption|signing|session|subscription|account|shared[ ]?access)
    [ _-]?key(?:[ _-]?id)?|(?:[a-z]{2,10}[_-])?token|(?:session|auth|login)[ _-]?cookie|(?:api|访问|接口
      |授权)[ ]?(?:密钥|秘钥|令牌)|令牌"""
_LABELLED_KEY = labelled(KEY_LABEL)
_SPACED_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:api|access|auth|refresh)[ _-](?:key|token)[ ](?P<value>[A-Za-z0-9]{24,}+)(?![\w./-])",
    re.IGNORECASE,
)
_AWS_SECRET = re.compile(
    r"(?i:secret[ _-]?access[ _-]?key)(?:[^\n]{0,80}\n)?[^\n]{0,80}?"
    r"(?<![A-Za-z0-9+/])(?P<value>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])"
)
"""After the label, in its line or in the next one, which is the row of a table: such a key has no format of its own."""
LABELS_OF_KEYS = ("key", "token", "cook", "密钥", "秘钥", "令牌")
"""Signs of labels of keys."""

_COOKIE_HEADER = re.compile(r"(?<![A-Za-z0-9])(?:set-)?cookies?[\"']?[ ]?[:=][ ]?(?P<pairs>[^\n]++)", re.IGNORECASE)
_COOKIE = re.compile(r"(?<![\w.-])(?P<name>[\w.-]{1,64}+)=(?P<value>[A-Za-z0-9%._~+/|:-]{8,}+)")
_SESSION = re.compile(r"sess|sid\Z|auth|token|csrf|xsrf|login|remember|jwt|user|logged", re.IGNORECASE)
_KNOWN_COOKIE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:PHP|J|ASP)SESS(?:ION)?ID\w{0,12}|ASP\.NET_SessionId|connect\.sid|sessionid|laravel_session"
    r"|_\w{2,24}_session|(?:csrf|xsrf-)token|__(?:Secure|Host)-[\w.-]{1,40})=(?P<value>[A-Za-z0-9%._~+/|:-]{8,}+)",
    re.IGNORECASE,
)


def find_keys(view: str) -> Iterator[Found]:
    """Finds API keys, JSON Web Tokens, cloud keys, private keys and bearer tokens."""
    for match in _KEYS.finditer(view):
        if _is_random(match[0]):
            yield Found(match.start(), match.end(), "API_KEY", match[0])
    for pattern in (_AUTHORIZATION, _URL_KEY):
        for match in pattern.finditer(view):
            if _is_random(match["value"]):
                yield found_in(match, "value", "API_KEY")


def find_labelled_keys(view: str) -> Iterator[Found]:
    """Finds values labelled as keys or tokens, if they contain letters and digits."""
    for match in _LABELLED_KEY.finditer(view):
        group = "quoted" if match["quote"] else "value"
        value = match[group].rstrip(".:)]}")
        if len(value) >= (24 if match["later"] else 8) and is_mixed(value) and not is_code(value):
            yield Found(match.start(group), match.start(group) + len(value), "API_KEY", value)
    for match in _SPACED_KEY.finditer(view):
        if is_mixed(match["value"]):
            yield found_in(match, "value", "API_KEY")
    for match in _AWS_SECRET.finditer(view):
        value = match["value"]
        if is_mixed(value) and value.lower() != value != value.upper():
            yield found_in(match, "value", "API_KEY")


def find_cookies(view: str) -> Iterator[Found]:
    """Finds cookies of sessions: by name, and in a header also by their random value."""
    for match in _KNOWN_COOKIE.finditer(view):
        if is_mixed(match["value"]) or match["value"].isdigit():
            yield found_in(match, "value", "API_KEY")
    for header in _COOKIE_HEADER.finditer(view):
        for match in _COOKIE.finditer(view, header.start("pairs"), header.end("pairs")):
            if is_mixed(match["value"]) and (_SESSION.search(match["name"]) or len(match["value"]) >= 24):
                yield found_in(match, "value", "API_KEY")


def _is_random(value: str) -> bool:
    """Whether this may be a key rather than a hyphenated name such as `sk-learn-contrib`."""
    return any(map(str.isdigit, value)) or (value != value.lower() and value != value.upper())


def is_mixed(value: str) -> bool:
    """Whether a value has letters and digits."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
