"""Detectors of keys and tokens: by their format, by the label before them, and as cookies of sessions."""

import re
from base64 import b64decode
from collections.abc import Iterator

from purser.context.redaction.detectors.labelled import bare, found_in, is_code, labelled
from purser.context.redaction.findings import Found

_PRIVATE_KEY = r"""-----BEGIN[ ][A-Z ]{0,30}PRIVATE[ ]KEY[A-Z ]{0,10}-----
    (?:(?>(?:[A-Za-z0-9+/=\s\\:,."]|-(?!----))*)-----END[ A-Z]{0,50}-----|(?>(?:[\s\\"]*+[A-Za-z0-9+/=]{20,}+)*))"""
_FORMS = (
    r"sk-[A-Za-z0-9_-]{16,}+",  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{16,}+",  # Stripe
    r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA|ANVA)[A-Z0-9]{12,}+",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{20,}+",  # GitHub
    r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{16,}+",  # GitLab
    r"xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-[A-Za-z0-9-]{16,}+|hooks\.slack\.com/services/[A-Za-z0-9/]{16,}+",  # Slack
    r"discord(?:app)?\.com/api/webhooks/\d{15,}+/[A-Za-z0-9_-]{30,}+",
    r"AIza[A-Za-z0-9_-]{30,}+|ya29\.[A-Za-z0-9_-]{16,}+|GOCSPX-[A-Za-z0-9_-]{16,}+",  # Google
    r"(?:LTAI|AKID|AKLT)[A-Za-z0-9]{12,}+",  # Alibaba, Tencent, Volcengine
    r"SG\.[A-Za-z0-9_-]{16,40}+\.[A-Za-z0-9_-]{16,}+|(?:SK|AC|key-)[0-9a-f]{32}",  # SendGrid, Twilio, Mailgun
    r"(?:hf|gsk|r8|glsa|nvapi|pplx|xai|npm|dckr_pat|lin_api|ntn|tvly|sntry[su])[_-][A-Za-z0-9_-]{20,}+",  # tools
    r"(?:jina|pcsk|lsv2_[ps][tk]|tgp_v1|figd|sbp|nfp|fo1|rubygems|phx|CFPAT)[_-][A-Za-z0-9_-]{32,}+|csk-[a-z0-9]{32,}+",
    r"NRAK-[A-Z0-9]{20,}+|HRKU-[A-Za-z0-9_-]{30,}+|tskey-[a-z]{2,10}-[A-Za-z0-9-]{16,}+|secret_[A-Za-z0-9]{40,}+",
    r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}+",  # Cloudflare
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}+|EAA[A-Za-z0-9]{40,}+|dp\.(?:st|pt|ct|sa)\.[A-Za-z0-9._-]{32,}+",  # age, Meta
    r"pypi-[A-Za-z0-9_-]{16,}+|hv[sb]\.[A-Za-z0-9_-]{16,}+|AT[AC]TT3[A-Za-z0-9_=-]{16,}+|PMAK-[A-Za-z0-9-]{16,}+",
    r"do[por]_v1_[0-9a-f]{32,}+|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}+|dapi[0-9a-f]{32}|sq0[a-z]{3}-[\w-]{16,}+",
    r"\d{8,10}:AA[A-Za-z0-9_-]{30,}+|purser_[A-Za-z0-9_-]{40,}+",  # Telegram, ours
    # Only from the start of a run, so that each run is scanned once.
    r"(?<![_-])eyJ[A-Za-z0-9_-]{6,}+\.[A-Za-z0-9_-]{6,}+(?>(?:\.{1,2}[A-Za-z0-9_-]++)*)",  # JSON Web Token
    r"(?<![_-])[MNO][A-Za-z0-9_-]{22,30}+\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}+",  # Discord
)
_KEYS = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=/bot))(?:{'|'.join(_FORMS)}|{_PRIVATE_KEY})", re.VERBOSE)
_AUTHORIZATION = re.compile(
    r"(?<![A-Za-z0-9_])(?:bearer:?|(?<=authorization: )(?:basic|token|apikey|key)|(?P<basic>basic))\s{1,3}"
    r"(?P<value>[A-Za-z0-9._~+/=-]{12,}+)",
    re.IGNORECASE,
)
_URL_KEY = re.compile(r"://(?P<value>[A-Za-z0-9_-]{20,}+)@")
_SIGNED_URL = re.compile(
    r"(?<=[?&])(?:key|appid|sig|(?:x-(?:amz|goog|oss)-)?signature)=(?P<value>[A-Za-z0-9%+/_-]{20,}+=?)", re.IGNORECASE
)
_GRANT = re.compile(r"(?<![\w.-])code=(?P<value>[A-Za-z0-9%._~+/-]{20,}+)(?![\w=])")
"""The code of a login with OAuth, which can be exchanged for a token."""
_OPTION = re.compile(
    r"(?<![\w-])--[\w-]{0,20}(?:token|(?:api|access|secret|auth|account)-?key)[ ][\"']?"
    r"(?P<value>[^\s\"'-][^\s\"']{7,}+)"
)
"""An option of a command, such as `--token value`."""

_OF_API = r"[ ](?:d[eai][ ]|d')?(?:api|accès|acceso|acesso|accesso|dostępu)"
KEY_LABEL = rf"""(?=[acdejklmpstzктア访接授令])(?:(?:api|access|auth|app|private|encryption|signing|session|subscription
      |account|shared[ ]?access|storage|master|deploy|service|consumer)
    [ _-]?key(?:[ _-]?id)?|token|(?:session|auth|login)[ _-]?cookie
    |api[ -]?(?:schlüssel|sleutel|nyckel|nøgle|nøkkel|avain)|(?:zugangs|zugriffs)(?:schlüssel|token)|toegangssleutel
    |(?:clé|clef|clave|chave|chiave|klucz|ключ|jeton|token){_OF_API}|токен(?:[ ]доступа)?
    |(?:api|アクセス)[ ]?(?:キー|トークン)|api[ ]?키
    |(?:api|访问|接口|授权)[ ]?(?:密钥|秘钥|令牌)|令牌)"""
"""Its first letters, looked for first, save half of the time."""
_LABELLED_KEY = labelled(KEY_LABEL)
_SPACED_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:api[ _-]?key|access[ _-]?key|token|токен[ ]доступа)[ ]"
    r"(?P<value>(?!0x)[A-Za-z0-9]{24,}+)(?![\w./-])",
    re.IGNORECASE,
)
_AWS_SECRET = re.compile(
    r"(?i:secret[ _-]?access[ _-]?key)(?:[^\n]{0,80}\n)?[^\n]{0,80}?"
    r"(?<![A-Za-z0-9+/])(?P<value>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])"
)
"""After the label, in its line or in the next one, which is the row of a table: such a key has no format of its own."""
LABELS_OF_KEYS = (
    "key", "token", "cook", "密钥", "秘钥", "令牌", "schlüssel", "sleutel", "nyckel", "nøgle", "nøkkel", "avain", "clé",
    "clef", "clave", "chave", "chiave", "klucz", "ключ", "jeton", "токен", "キー", "トークン", "키",
)  # fmt: skip
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
    for match in _AUTHORIZATION.finditer(view):
        if _is_login(match["value"]) if match["basic"] else _is_random(match["value"]):
            yield found_in(match, "value", "API_KEY")
    for pattern in (_URL_KEY, _SIGNED_URL):
        for match in pattern.finditer(view):
            if _is_random(match["value"]):
                yield found_in(match, "value", "API_KEY")
    for match in _GRANT.finditer(view):
        if is_mixed(match["value"]) and any(map(str.islower, match["value"])):
            yield found_in(match, "value", "API_KEY")
    for match in _OPTION.finditer(view):
        if is_mixed(match["value"]) and not is_code(match["value"]):
            yield found_in(match, "value", "API_KEY")


def find_labelled_keys(view: str) -> Iterator[Found]:
    """Finds values labelled as keys or tokens, if they contain letters and digits."""
    for match in _LABELLED_KEY.finditer(view):
        group = "quoted" if match["quote"] else "value"
        value = match["quoted"] if match["quote"] else bare(match)
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


def _is_login(value: str) -> bool:
    """Whether a value is `user:password` in base64, as in a header without its name."""
    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False


def is_mixed(value: str) -> bool:
    """Whether a value has letters and digits."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))
