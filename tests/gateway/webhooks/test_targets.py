"""The allow-list of webhook addresses: what it allows, and every disguise that it refuses."""

import pytest

from purser.gateway.errors import TargetRefused
from purser.gateway.webhooks.targets import Targets, origin

TARGETS = Targets(["https://chat.example.com/hooks", "http://127.0.0.1:9000", "https://any.example:8443/"])


@pytest.mark.parametrize(
    "url",
    [
        "https://chat.example.com/hooks",
        "https://chat.example.com/hooks/T1/B2?thread=3",
        "https://chat.example.com/hooks/a;v=1/b.c/x%20y/%C3%A9?to=%2Frooms%2F1",
        "https://CHAT.example.com:443/hooks/x",
        "http://127.0.0.1:9000/",
        "https://any.example:8443/whatever",
    ],
)
def test_what_is_below_an_entry_is_allowed(url: str) -> None:
    TARGETS.check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://chat.example.com/hooks",
        "https://chat.example.com/hooksmith",
        "https://chat.example.com/",
        "https://chat.example.com:8443/hooks",
        "https://chat.example.com.evil.example/hooks",
        "https://evil.example/https://chat.example.com/hooks",
        "https://chat.example.com@evil.example/hooks",
        "https://user:word@chat.example.com/hooks",
        "https://chat.example.com/hooks/../admin",
        "https://chat.example.com/hooks/%2e%2e/admin",
        "https://chat.example.com/hooks/%252e%252e/admin",
        "https://chat.example.com/hooks/..%2fadmin",
        "https://chat.example.com/hooks/..;/admin",
        "https://chat.example.com/hooks/..%3b/admin",
        "https://chat.example.com/hooks/..%00/admin",
        "https://chat.example.com/hooks/..%09/admin",
        "https://chat.example.com/hooks/..%3fx/admin",
        "https://chat.example.com/hooks/%20../admin",
        "https://chat.example.com/hooks/%c0%ae%c0%ae/admin",
        "https://chat.example.com/hooks/.%u002e/admin",
        "https://chat.example.com/hooks/%ef%bc%8e%ef%bc%8e/admin",
        "https://chat.example.com/hooks/%e3%80%82%e3%80%82/admin",
        "https://chat.example.com/hooks/..%ef%bc%8fadmin",
        "https://chat.example.com/hooks\\..\\admin",
        "https://chat.example.com/hooks#part",
        "https://chat.example.com/hooks x",
        "https://chat.example.com/hooks\nx",
        "ftp://chat.example.com/hooks",
        "//chat.example.com/hooks",
        "https://xn--a/hooks",
        "https://xn--zz9-:1/hooks",
        "http://localhost:9000/",
        "http://[::1]:9000/",
        "http://0x7f000001:9000/",
        "http://127.0.0.1:9000@evil.example/",
        "https://",
        "https://chat.example.com/hooks/" + "x" * 2_048,
    ],
)
def test_what_is_not_is_refused(url: str) -> None:
    with pytest.raises(TargetRefused):
        TARGETS.check(url)


def test_without_entries_nothing_is_allowed() -> None:
    with pytest.raises(TargetRefused, match="webhook_targets"):
        Targets(()).check("https://chat.example.com/hooks")


@pytest.mark.parametrize(
    "entry", ["chat.example.com", "https://u:p@chat.example.com", "https://a/?q", "file:///etc", ""]
)
def test_an_entry_that_is_no_address_is_an_error(entry: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Targets([entry])


def test_a_refusal_names_the_origin_and_not_the_path() -> None:
    with pytest.raises(TargetRefused) as refused:
        TARGETS.check("https://evil.example:444/s3cr3t")
    assert "https://evil.example:444 " in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
    assert origin("https://a.example:443/x") == "https://a.example"
