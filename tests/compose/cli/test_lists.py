"""Lists of the API as commands print them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from purser.compose.cli import lists
from purser.compose.cli.api.client import Gateway
from purser.compose.cli.lists import change, figure, money, print_list, status, text

COLUMNS = {
    "name": text("name"),
    "state": status("state"),
    "tokens": figure("after.tokens"),
    "moved": change("moved"),
    "money": money("after.nano_usd"),
}
ITEM = {"name": "[red]a", "state": "running", "moved": 1_500, "after": {"tokens": 12_000, "nano_usd": 500_000_000}}


class Api:
    """A gateway that answers every request with the next page, the last one again and again, and keeps what it was
    asked."""

    def __init__(self, page: dict[str, Any]) -> None:
        self.page = page
        self.later: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((request.url.path, dict(request.url.params)))
        page, self.page = self.page, self.later.pop(0) if self.later else self.page
        return httpx.Response(200, json=page, headers=self.headers)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    api = Api({"items": [ITEM, {**ITEM, "name": ""}], "cursor": None})

    @contextmanager
    def gateway(data: object) -> Iterator[Gateway]:
        with httpx.Client(base_url="http://gateway", transport=httpx.MockTransport(api.answer)) as client:
            yield Gateway(client)

    monkeypatch.setattr(lists, "gateway", gateway)
    return api


def test_a_list_has_a_row_for_each_item_and_shows_text_as_it_is(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    print_list(None, "/v1/things", {"from": "today"}, COLUMNS, as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["name", "state", "tokens", "moved", "money"],
        ["[red]a", "running", "12,000", "+1,500", "$0.50"],
        ["-", "running", "12,000", "+1,500", "$0.50"],
    ]
    assert api.asked == [("/v1/things", {"from": "today"})]


def test_a_list_as_json_is_the_page_itself(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    print_list(None, "/v1/things", {}, COLUMNS, as_json=True)
    assert json.loads(capsys.readouterr().out) == api.page


@pytest.mark.parametrize(("cursor", "says"), [(None, False), ("abc", True)])
def test_a_list_that_goes_on_says_so(
    api: Api, capsys: pytest.CaptureFixture[str], cursor: str | None, says: bool
) -> None:
    api.page["cursor"] = cursor
    print_list(None, "/v1/things", {}, COLUMNS, as_json=False)
    assert ("There are more" in capsys.readouterr().out) is says


def test_a_whole_list_follows_the_cursors(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [{"items": [{**ITEM, "name": name}], "cursor": cursor} for name, cursor in (("a", "c1"), ("b", None))]
    for as_json in (False, True):
        api.page, *api.later = pages
        print_list(None, "/v1/things", {"limit": 5}, COLUMNS, whole=True, as_json=as_json)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["name", "a", "name", "b"]
    assert [json.loads(line) for line in lines[4:]] == pages
    assert [query for _, query in api.asked] == [{"limit": "1000"}, {"limit": "1000", "cursor": "c1"}] * 2


def test_a_list_without_a_cursor_is_whole(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    del api.page["cursor"]
    print_list(None, "/v1/things", {}, COLUMNS, as_json=False)
    assert "There are more" not in capsys.readouterr().out


def test_a_list_whose_oldest_entries_retention_has_deleted_says_so(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.headers["Purser-Complete-After"] = "2026-11-20T12:00:00+00:00"
    print_list(None, "/v1/usage", {}, COLUMNS, as_json=False)
    assert "the ledger is complete after 2026-11-20T12:00:00+00:00." in capsys.readouterr().out
    print_list(None, "/v1/usage", {}, COLUMNS, as_json=True)
    assert json.loads(capsys.readouterr().out) == {**api.page, "complete_after": "2026-11-20T12:00:00+00:00"}
