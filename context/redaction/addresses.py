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
_LABEL = rf"(?:(?:[^\W_{_CJK}]|-)++|[{_CJK}]++)"
_DOMAIN = rf"@(?P<domain>{_LABEL}(?:\.{_LABEL})++)"
_EMAILS = (
    re.compile(rf'(?P<local>"[^"@\n]{{1,64}}+"){_DOMAIN}'),
    # Each run of letters is scanned once from its start, so the time is linear.
    re.compile(rf"(?<![^\W{_CJK}])(?<![.+%~'-])(?P<local>{_OTHER}++){_DOMAIN}"),
    re.compile(rf"(?<![\w.+%~'-])(?P<local>[\w.+%~'-]++)(?<=[{_CJK}]){_DOMAIN}"),
)
_CJK_TOP = re.compile(
    "(?:中国|中國|中文网|公司|网络|網絡|网址|网站|在线|集团|企业|商城|商店|台湾|台灣|香港|澳门|公益|政务|机构|移动|手机|"
    "我爱你|みんな|コム|ストア|한국|닷컴|닷넷)"
)
_MARKS = ".+%~'-"


def find_emails(view: str) -> Iterator[Found]:
    """Finds e-mail addresses in any script, with Unicode or Punycode domains."""
    for pattern in _EMAILS:
        for match in pattern.finditer(view):
            local, domain = match["local"].lstrip(_MARKS), _host(match["domain"])
            if local and domain:
                start = match.end("local") - len(local)
                yield Found(start, match.start("domain") + len(domain), "EMAIL", _same_email(local, domain))


def _host(domain: str) -> str:
    """The longest prefix of a dotted name that can be a host; empty if there is none."""
    labels = domain.rstrip("-").split(".")
    while len(labels) > 1 and not _is_top(labels[-1]):
        labels.pop()
    if len(labels) == 1:
        return ""
    if known := _CJK_TOP.match(labels[-1]):
        labels[-1] = known[0]
    return ".".join(labels)


def _is_top(label: str) -> bool:
    return 2 <= len(label) <= 63 and (label.isalpha() or label.lower().startswith("xn--"))


def _same_email(local: str, domain: str) -> str:
    with suppress(UnicodeError):  # A name that no resolver accepts equals only itself.
        domain = domain.encode("idna").decode()
    return f"{local}@{domain}".casefold()


# --- IP --------------------------------------------------------------------------------------------------------------

_V4 = re.compile(r"(?<![A-Za-z0-9_.+~=<>-])(?<![A-Za-z0-9]/)\d{1,3}(?:\.\d{1,3}){3}(?![A-Za-z0-9_]|\.\d|-[A-Za-z])")
_V6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*+(?:\.\d{1,3}){0,3}+(?!\w)", re.ASCII)
_VERSION = re.compile(
    r"(?:(?<![A-Za-z0-9_])(?:v|ver|versions?|release[ds]?|build|rev|revision|firmware|section|chapter|clause)"
    r"|版本号?|第|§)[\s\"':=#]{0,4}\Z",
    re.IGNORECASE,
)
_SLICE = re.compile(r"[\w)\]]\[\Z")


def find_ips(view: str) -> Iterator[Found]:
    """Finds IPv4 and IPv6 addresses, but no version numbers, times, hardware addresses or slices."""
    for match in _V4.finditer(view):
        if not _VERSION.search(view, max(0, match.start() - 24), match.start()) and (value := _v4(match[0])):
            yield Found(match.start(), match.end(), "IP", value)
    for match in _V6.finditer(view):
        written = match[0] if match[0].endswith("::") else match[0].rstrip(":")
        if not _SLICE.search(view, max(0, match.start() - 2), match.start()) and (value := _v6(written)):
            yield Found(match.start(), match.start() + len(written), "IP", value)


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
    try:
        return str(IPv6Address(written))
    except AddressValueError:
        return None
