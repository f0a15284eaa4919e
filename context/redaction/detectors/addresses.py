"""Detectors of e-mail and IP addresses."""

import re
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from purser.context.redaction.findings import Found

# --- e-mail ----------------------------------------------------------------------------------------------------------

# Chinese and Japanese put no space between an address and the words around it, so an address in another script ends
# where these letters begin.
_CJK = r"\u1100-\u11ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_OTHER = rf"(?:[^\W{_CJK}]|[.+%~'-])"
_LABEL = rf"(?:(?>(?:[^\W_{_CJK}]|-)+)|[{_CJK}]++)"
# The ideographic full stop separates labels too, but after a name with dots it ends the sentence.
_DOMAIN = rf"@(?P<domain>{_LABEL}(?>(?:\.{_LABEL})+)|[A-Za-z0-9-]++(?>(?:[。｡][A-Za-z0-9-]++)+)|localhost(?![\w-]))"
_EMAILS = (
    re.compile(rf'(?P<local>"[^"@\n]{{1,64}}+"){_DOMAIN}'),
    # Each run of letters is scanned once from its start, so the time is linear.
    re.compile(rf"(?<![^\W{_CJK}])(?<![.+%~'-])(?P<local>(?>{_OTHER}+)){_DOMAIN}"),
    re.compile(rf"(?<![\w.+%~'-])(?P<local>[\w.+%~'-]++)(?<=[{_CJK}]){_DOMAIN}"),
)
_CJK_TOP = re.compile(
    "(?:中国|中國|中文网|公司|网络|網絡|网址|网站|在线|集团|企业|商城|商店|台湾|台灣|香港|澳门|公益|政务|机构|移动|手机|"
    "我爱你|みんな|コム|ストア|한국|닷컴|닷넷)"
)
_MARKS = ".+%~'-"
_PREPOSITION = re.compile(r"\A[\u05d0-\u05ea]{1,3}-(?=[A-Za-z0-9])")
"""Hebrew joins one to the word after it: `ל-jane@example.com`."""
_NO_TOP_WORDS = """
    service socket timer target mount automount slice scope device png jpg jpeg gif webp svg ico css js ts tsx json html
    htm txt log tgz gz whl jar exe dll yaml yml toml xml csv pdf doc docx xlsx sha256
"""
_NO_TOP = frozenset(_NO_TOP_WORDS.split())
"""What ends a unit of systemd, `getty@tty1.service`, or a file, `logo@2x.png`."""
_REPOSITORY = re.compile(r"(?<![\w.+-])(?:git|hg|svn)@[\w.-]++[:/][\w~]")
_LOGIN = re.compile(r"(?<![\w./-])(?:ssh|sftp|mosh|ssh-copy-id)(?: -\S{1,40}(?: [\w./:~]\S{0,40})?){0,4} \Z")
"""A command that logs in to the host after it, with its options."""
_LOOK_BACK = 48


def find_emails(view: str) -> Iterator[Found]:
    """Finds e-mail addresses in any script, with Unicode or Punycode domains."""
    for pattern in _EMAILS:
        for match in pattern.finditer(view):
            local, domain = _PREPOSITION.sub("", match["local"].lstrip(_MARKS), count=1), _host(match["domain"])
            start = match.end("local") - len(local)
            if not (local and domain) or _REPOSITORY.match(view, start):
                continue
            if not _LOGIN.search(view, max(0, start - _LOOK_BACK), start):
                yield Found(start, match.start("domain") + len(domain), "EMAIL", _same_email(local, domain))


def _host(domain: str) -> str:
    """The longest prefix of a dotted name that can be a host; empty if there is none."""
    if domain == "localhost":
        return domain
    labels = re.split("[.。｡]", domain.rstrip("-"))
    if labels[-1].lower() in _NO_TOP:
        return ""
    while len(labels) > 1 and not _is_top(labels[-1]):
        labels.pop()
    if len(labels) == 1:
        return ""
    if known := _CJK_TOP.match(labels[-1]):
        labels[-1] = known[0]
    return domain[: sum(map(len, labels)) + len(labels) - 1]


def _is_top(label: str) -> bool:
    return 2 <= len(label) <= 63 and (label.isalpha() or label.lower().startswith("xn--"))


def _same_email(local: str, domain: str) -> str:
    with suppress(UnicodeError):  # A name that no resolver accepts equals only itself.
        domain = domain.encode("idna").decode()
    return f"{local}@{domain}".casefold()


# --- IP --------------------------------------------------------------------------------------------------------------

_V4 = re.compile(
    r"""(?:(?<![A-Za-z0-9_.+~^=<>-]) | (?<=[^=<>~!+:]=) | (?<=<)(?=[\d.]{7,15}>)
       | (?<=[-=]>) | (?<=[\w"'/]>)(?=[\d.]{7,15}</)
       | (?<=\d\.\d-) | (?<=\d\.\d\d-) | (?<=\d\.\d{3}-))
    (?:(?<![A-Za-z0-9]/) | (?=[\d.]{7,15}:\d))
    \d{1,3}(?:\.\d{1,3}){3}(?![A-Za-z0-9_]|\.\d|-[A-Za-z])""",
    re.VERBOSE,
)
_V6 = re.compile(
    r"(?:(?<![\w:.])|(?<=[A-Za-z]:)(?!:))[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*+(?>(?:\.\d{1,3}){0,3})(?!\w)", re.ASCII
)
_VERSION = re.compile(
    rf"(?:(?<![^\W_{_CJK}])(?:v|ver|vers|releases?|build|rev|revision|firmware|section|chapter|clause|oid|tag|schema|spec"
    r"|migration|protocol|bootloader|modem|bios|lib\w{1,20}|sdk|driver|hotfix|e\.?c\.?"
    r"|kapitel|abschnitt|ziffer|abb|abbildung|fig(?:ure)?|table|tab|annex|anhang|appendix|paragraph\w{0,3}|punto|punkt"
    r"|chapitre|capítulo|capitolo|article|artikel|artigo|artículo|articolo|sección|seç[ãa]o|sezione|hoofdstuk|rozdział"
    r"|глава|раздел|пункт|верси\w|sürüm|verzi[aeóo]|wersj[aię]|versjon)"
    r"|(?<![^\W\d_])\w{0,20}vers(?:ions?|ión|ão|ao|ione|ie|ione)|版本号?|第|§|バージョン|버전|[<>~]=|~>|\^|[\w-]/[\w.-]{1,60}:(?=\Z))"
    r"\.?[\s\"':=#(>]{0,4}\Z",
    re.IGNORECASE,
)
_SOFTWARE = re.compile(
    r"""(?<![A-Za-z0-9_])(?:(?:up|down)grad\w{0,4}|updat\w{1,4}|releas\w{1,3}|versions?|plug-?ins?|themes?|patch\w{0,3}|drivers?
      |firmware|changelog|install\w{0,3}|packages?|pip|conda|apt|npm|yum|brew|chrome|firefox|safari|edge|opera|webkit
      |apps?|aktualisier\w{1,3}|mise[ ]à[ ]jour|a[ck]?tualiz\w{1,5}|fix(?:ed|es)?[ ]in|since|requires?|prior[ ]to
      |older[ ]than|newer[ ]than|earlier[ ]than|обновл\w{1,6}|верси\w{1,3})(?![A-Za-z0-9_])|版本|升级
      |更新|插件""",
    re.VERBOSE | re.IGNORECASE,
)
_NETWORK = re.compile(
    r"""(?<![A-Za-z0-9])(?:ips?|ipv4|addr\w{0,5}|address\w{0,2}|hosts?|servers?|clients?|peers?|from|at|via|ping\w{0,3}|gateway|dns
      |subnet|proxy|log(?:in|ged|on)\w{0,3}|connect\w{0,4}|block\w{0,3}|remote|source|src|dst|listen\w{0,3}|bind
      |nodes?|router
      |vpn|ssh|curl|traceroute|adresse|dirección|endereço|servidor|serveur|адрес\w{0,2}|сервер\w{0,2}
      |visitor|attacker|request\w{0,3}|bann?\w{0,3}|vo[nm]|zugriff|anfrage\w?|verbind\w{0,5}|anmeld\w{0,4}|rechner|angreifer
      |gesperrt|depuis|acc[èe]s|connexion|desde|acc?es[so]o|conexi[óo]n|conexão|dal(?:l')?|connessione|serwer\w?|adres\w{0,2})(?![A-Za-z0-9])
      |地址|服务器|主机|アドレス|サーバ""",
    re.VERBOSE | re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Z][A-Za-z]{1,30}|kernel|nginx|apache|openssl|openssh|php|python|java|node|docker)[ ]\Z"
)
_PORT = re.compile(r"[:/]\d")
_PINNED = re.compile(r"=\Z")
_START_OF_LINE = re.compile(r"(?:\A|\n)\#{0,3}[ ]?\[?\Z")
_HEADING = re.compile(r"[ ](?:[A-Z][a-z]|\(\d)|\]?[ ]-[ ]\d{4}-\d\d-\d\d(?=\n|\Z)")
_PUBLISHED = re.compile(r"[ ](?:has[ ]been[ ]|was[ ]|is[ ])?(?:released|out[ ]now)(?!\w)")
_COLUMN = re.compile(r"(?:\A|\n)[A-Za-z][\w.-]{1,60}[ ]{2,60}\Z")
_PACKAGE = re.compile(r"(?:\A|\n)[A-Za-z][\w.-]{1,60}[ ]{2,60}\d{1,5}\.\d{1,5}(?:\.\w{1,9})?[ ]*(?=\n|\Z)")
_SLICE = re.compile(r"[\w)\]]\[\Z")


def find_ips(view: str) -> Iterator[Found]:
    """Finds IPv4 and IPv6 addresses, but no version numbers, times, hardware addresses or slices."""
    # Looking for a sign first takes a fraction of the time.
    for match in _V4.finditer(view) if "." in view else ():
        if (value := _v4(match[0])) and not _is_version(view, match):
            yield Found(match.start(), match.end(), "IP", value)
    for match in _V6.finditer(view) if view.count(":") > 1 else ():
        written = match[0] if match[0].endswith("::") else match[0].rstrip(":")
        written = written if written.startswith("::") else written.lstrip(":")
        start = match.start() + match[0].index(written)
        if not _SLICE.search(view, max(0, start - 2), start) and (value := _v6(written)):
            yield Found(start, start + len(written), "IP", value)


def _is_version(view: str, match: re.Match[str]) -> bool:
    """Whether the words before four numbers say that they are a version: `Rocket 3.17.2.1`, `upgraded to 3.17.2.1`."""
    start, before = match.start(), max(0, match.start() - _LOOK_BACK)
    if _VERSION.search(view, before, start):
        return True
    if _COLUMN.search(view, max(0, start - 124), start):  # a table of packages, as `pip list` prints it
        return bool(_PACKAGE.search(view, max(0, start - 400), start + 400))
    # No host has an address from 0.0.0.1 to 0.255.255.255.
    address = IPv4Address(match[0])
    if _PORT.match(view, match.end()) or (address.is_private and not 0 < int(address) < 1 << 24):
        return False
    before = max(before, view.rfind("\n", before, start))
    software = _SOFTWARE.search(view, before, start)
    if max(map(int, match[0].split("."))) > 99 and not _PINNED.search(view, before, start):
        return False
    if software or _NETWORK.search(view, before, start):
        return bool(software)
    if _NAME.search(view, before, start) or _PUBLISHED.match(view, match.end()):
        return True
    at_start_of_line = _START_OF_LINE.search(view, max(0, start - 5), start)
    return bool(at_start_of_line and _HEADING.match(view, match.end()))


def _v4(written: str) -> str | None:
    try:
        return str(IPv4Address(written))
    except AddressValueError:
        return None


def _v6(written: str) -> str | None:
    groups = written.split(":")
    if len(groups) < 3 or all(len(group) == 2 for group in groups) or not any(map(str.isdigit, written)):
        return None  # Groups of two digits are a hardware address, `face::add` is a C++ name.
    if written != "::1" and "." not in written and len([group for group in groups if group]) < 3 > len(groups[0]):
        return None  # `1::2` is a slice.
    if written != "::1" and "." not in written and len(groups) < 8 and max(map(len, groups)) < 3:
        return None  # `3:4::5` is a ratio.
    try:
        return str(IPv6Address(written))
    except AddressValueError:
        return None
