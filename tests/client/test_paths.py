"""An id is one part of an address: it never leads to another endpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from purser_client import BudgetBody, InvalidRequest, Purser
from purser_client.operations import approvals, budgets, holds, sessions, tasks

BY_ID: list[Callable[[str], Any]] = [
    holds.show,
    holds.start_attempt,
    lambda one: holds.settle(one, {"total": 1}),
    holds.release,
    lambda one: holds.extend(one, lease_ms=5_000),
    tasks.show,
    tasks.pause,
    tasks.resume,
    tasks.cancel,
    tasks.calls,
    lambda one: tasks.call_window(one, "c1"),
    lambda one: tasks.call_window("t1", one),
    approvals.show,
    lambda one: approvals.decide(one, "approve"),
    sessions.delete,
    sessions.messages,
    lambda one: sessions.unpin(one, 1),
    lambda one: sessions.tool_call(one, 1, 0),
    sessions.user_settings,
    lambda one: sessions.set_user_settings(one, {}),
    sessions.delete_user_settings,
]


@pytest.mark.parametrize("wrong", ["", ".", "..", "../keys/key-x", "s1/pins/5"])
@pytest.mark.parametrize("build", BY_ID)
def test_an_id_that_is_no_part_of_an_address_is_refused(build: Callable[[str], Any], wrong: str) -> None:
    with pytest.raises(InvalidRequest, match="is not valid"):
        build(wrong)


@pytest.mark.parametrize("wrong", ["", "..", "../keys", "agent:t1/..", "agent:t1/./a", "agent:t1//a", "agent:t1/"])
def test_a_scope_names_no_other_address(wrong: str) -> None:
    with pytest.raises(InvalidRequest, match="is not valid"):
        budgets.show(wrong)
    with pytest.raises(InvalidRequest, match="is not valid"):
        budgets.change(wrong, BudgetBody())


@pytest.mark.parametrize("wrong", ["\ud800", "\0", Path("s1"), None, 5])
def test_what_is_no_text_or_cannot_be_sent_is_no_id(wrong: Any) -> None:
    for build in (tasks.show, budgets.show):
        with pytest.raises(InvalidRequest, match="is not valid as an id"):
            build(wrong)


def test_it_is_refused_before_a_request() -> None:
    with pytest.raises(InvalidRequest, match=r"'\.\./5' is not valid"):
        sessions.unpin("s1", "../5")  # type: ignore[arg-type]
    with (
        Purser("http://127.0.0.1:9", "none") as purser,
        pytest.raises(InvalidRequest, match=r"'\.\./keys/key-x' is not valid"),
    ):
        purser.sessions.delete("../keys/key-x")


@pytest.mark.parametrize(
    ("given", "sent"),
    [("a?b", "a%3Fb"), ("a#b", "a%23b"), ("%2e%2e", "%252e%252e"), ("ü", "%C3%BC"), ("a@b~c:d", "a@b~c:d")],
)
def test_other_characters_stay_in_their_part(given: str, sent: str) -> None:
    assert tasks.show(given).path == f"/v1/tasks/{sent}"


@pytest.mark.parametrize("scope", ["session:s1@day", "agent:t1/a1", "model:openai/gpt-4o", "tag:team=search"])
def test_a_scope_stays_readable(scope: str) -> None:
    assert budgets.show(scope).path == f"/v1/budgets/{scope}".replace("=", "%3D")
