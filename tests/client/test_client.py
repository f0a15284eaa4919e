"""What making a client takes."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from purser_client import AsyncPurser, InvalidRequest, Purser, PurserError
from tests.client.conftest import World


@pytest.mark.parametrize(("url", "reads"), [("http://127.0.0.1:8787", False), ("https://purser.example.com", True)])
def test_only_a_client_of_https_reads_certificates(url: str, reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[ssl.SSLContext]()
    create = ssl.create_default_context

    def noted(*args: Any, **options: Any) -> ssl.SSLContext:
        made.append(create(*args, **options))
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", noted)
    Purser(url, "a-key").close()
    assert bool(made) is reads


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8787", "ftp://a", "http://", "http://a:b", "http://[1", "http://a b\n", Path("a")]
)
def test_what_is_no_address_is_refused_at_once(url: Any) -> None:
    with pytest.raises(PurserError, match=r"is not an address such as .*: begin with http:// or https://"):
        Purser(url, "a-key")


@pytest.mark.parametrize("url", ["https://me:secret@purser.example.com", "http://me:secret@h:b", "//secret@h"])
def test_an_address_with_a_user_is_refused_at_once_and_not_repeated(url: str) -> None:
    """Its user would be sent in place of the key."""
    with pytest.raises(PurserError, match="leave out what is before @") as refused:
        Purser(url, "a-key")
    assert "secret" not in str(refused.value)


def test_an_address_that_no_path_can_follow_is_refused_at_once() -> None:
    with pytest.raises(PurserError, match=r"leave out what begins with \? or #"):
        Purser("http://127.0.0.1:8787?tenant=a", "a-key")


@pytest.mark.parametrize("key", ["a-key\n", "ключ", "a key"])
def test_what_is_no_key_is_refused_at_once_and_not_repeated(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_API_KEY", key)
    for given in (key, None):
        with pytest.raises(PurserError, match="printable ASCII characters only") as refused:
            AsyncPurser("http://127.0.0.1:8787", given)
        assert key.strip() not in str(refused.value)
    with pytest.raises(PurserError, match="printable ASCII characters only"):
        Purser("http://127.0.0.1:8787", b"a-key")  # type: ignore[arg-type]


def test_an_empty_key_of_a_call_is_refused_and_not_replaced() -> None:
    with Purser("http://127.0.0.1:9", "a-key") as purser, pytest.raises(InvalidRequest) as refused:
        purser.call(["session:s1"], input_tokens=1, key="").__enter__()
    assert refused.value.problem.field == "key"


async def test_each_event_loop_has_connections_of_its_own(world: World) -> None:
    purser = await world.client()

    async def look() -> str:
        return (await purser.budgets.show("session:s1")).scope

    for _ in range(2):
        assert await asyncio.to_thread(asyncio.run, look()) == await look() == "session:s1"
    assert len(purser._clients) == 2  # those of the first loop that has ended are forgotten


async def test_a_request_is_a_coroutine_of_a_task(world: World) -> None:
    """As the type of it says, which mypy checks here."""
    purser = await world.client()
    budget = await asyncio.create_task(purser.budgets.show("session:s1"))
    assert budget.scope == "session:s1"
