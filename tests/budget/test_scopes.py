"""Scopes and paths."""

import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.budget.errors import InvalidScope
from purser.budget.scopes import Kind, Path, Scope, agent_scope
from purser.wire.limits import MAX_PATH

CHARACTERS = string.ascii_letters + string.digits + "._~-"
IDS = st.text(CHARACTERS, min_size=1, max_size=128).filter(lambda text: text not in (".", ".."))


# --- scopes ----------------------------------------------------------------------------------------------------------


@given(st.sampled_from(Kind).filter(lambda kind: kind is not Kind.TAG), IDS)
def test_a_scope_reads_back_as_it_was_written(kind: Kind, identifier: str) -> None:
    scope = Scope.parse(f"{kind}:{identifier}")
    assert (scope.kind, scope.id) == (kind, identifier)
    assert Scope.parse(str(scope)) == scope


def test_an_agent_of_a_task_names_its_task() -> None:
    assert str(agent_scope("t1", "planner")) == "agent:t1/planner"
    assert Scope.parse("agent:t1/planner") == agent_scope("t1", "planner")


def test_an_id_has_at_most_128_characters() -> None:
    assert Scope.parse("task:" + "x" * 128).id == "x" * 128
    with pytest.raises(InvalidScope, match="1 to 128"):
        Scope.parse("task:" + "x" * 129)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s1", "has no kind: write kind:id"),
        ("", "has no kind"),
        ("project:p1", "unknown kind 'project': use one of tenant, user, session, task, agent"),
        ("Session:s1", "unknown kind 'Session'"),
        (":s1", "unknown kind ''"),
        ("session:", "use 1 to 128 of the characters"),
        ("session:a b", "use 1 to 128 of the characters"),
        ("session:a\n", "use 1 to 128 of the characters"),
        ("session:a:b", "use 1 to 128 of the characters"),
        ("session:a/b", "use 1 to 128 of the characters"),
        ("session:é", "use 1 to 128 of the characters"),
        ("session:\x00", "use 1 to 128 of the characters"),
        ("agent:t1/a1/x", "too many '/'"),
        ("tag:team", "is no tag: write tag:name=value"),
        ("tag:team=a=b", "is no tag: write tag:name=value"),
        ("tag:team=", "use 1 to 128 of the characters"),
        ("model:gpt 4", "use 1 to 256 of A-Z"),
        ("model:a/../b", "'..' is not valid"),
        ("agent:/a1", "use 1 to 128 of the characters"),
        ("agent:t1/", "use 1 to 128 of the characters"),
        ("session:.", "'.' is not valid: clients and proxies remove it from URLs"),
        ("agent:t1/..", "'..' is not valid: clients and proxies remove it from URLs"),
    ],
)
def test_a_malformed_scope_is_named_with_the_remedy(text: str, said: str) -> None:
    with pytest.raises(InvalidScope, match=re.escape(said)):
        Scope.parse(text)


def test_a_scope_cannot_be_made_with_an_id_that_does_not_parse() -> None:
    with pytest.raises(InvalidScope):
        Scope(Kind.TASK, "a b")


def test_an_endless_id_is_cut_in_the_message() -> None:
    with pytest.raises(InvalidScope) as error:
        Scope.parse("session:" + "ü" * 100_000)
    assert len(str(error.value)) < 600


def test_what_was_stored_under_older_rules_is_still_read() -> None:
    assert str(Scope.stored("session:..")) == "session:.."
    with pytest.raises(InvalidScope, match="use 1 to 128"):
        Scope.stored("session:")


# --- paths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts",
    [
        ["tenant:a", "user:u", "session:s", "task:t", "agent:t/a"],
        ["session:s", "agent:t/a"],
        ["task:t", "agent:a"],
        ["task:t"],
        ["agent:t/a", "agent:t/b", "agent:t/c"],
    ],
)
def test_levels_may_be_missing_and_agents_may_repeat(texts: list[str]) -> None:
    assert Path.parse(texts).texts() == texts


def test_a_stored_path_may_name_the_agent_of_another_task_as_older_rules_allowed() -> None:
    stored = Path((Scope.stored("task:t"), Scope.stored("agent:t2/a")))
    assert stored.texts() == ["task:t", "agent:t2/a"]


def test_a_path_knows_its_task() -> None:
    assert Path.parse(["session:s", "task:t7", "agent:t7/a"]).task_id() == "t7"
    assert Path.parse(["session:s"]).task_id() == ""


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "the path is empty"),
        (["task:t", "session:s"], "scope 'session:s' may not follow 'task:t'"),
        (["session:a", "session:b"], "scope 'session:b' may not follow 'session:a'"),
        (["task:a", "task:b"], "the order is tenant > user > session > task > agent"),
        (["agent:t/a", "task:t"], "may not follow"),
        (["agent:t/a", "agent:t/b", "agent:t/a"], "names a scope twice"),
        (["session:s", "session:s"], "names a scope twice"),
        (["task:t", "agent:t/a", "agent:t2/a"], "'agent:t2/a' is no agent of task:t: name task:t2, or write agent:t/a"),
        ([f"agent:t/{n}" for n in range(MAX_PATH + 1)], f"has {MAX_PATH + 1} scopes: at most {MAX_PATH}"),
    ],
)
def test_a_malformed_path_is_named_with_the_remedy(texts: list[str], said: str) -> None:
    with pytest.raises(InvalidScope, match=re.escape(said)):
        Path.parse(texts)


@pytest.mark.parametrize("path", ["session:s1", ["session:s1", 5], ""])
def test_a_path_is_a_list_of_texts_and_a_single_text_is_not_read_letter_by_letter(path: Any) -> None:
    with pytest.raises(InvalidScope, match=r"is no list of texts: write for example \['session:s1'\]"):
        Path.parse(path)


def test_a_path_cannot_be_made_that_does_not_parse() -> None:
    scope = Scope.parse("session:s")
    with pytest.raises(InvalidScope, match="twice"):
        Path((scope, scope))
