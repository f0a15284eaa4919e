"""Labels: tags, models and tools."""

import pytest

from purser.budget.errors import InvalidRequest, InvalidScope
from purser.budget.gate import Amount
from purser.budget.holds import HoldRequest
from purser.budget.labels import check_labels, model_label, stored_tags, tags_of, tool_label, with_tags_of_key
from purser.budget.scopes import Path, Scope
from purser.wire.limits import MAX_TAGS

TEAM = Scope.parse("tag:team=search")
PATH = Path.parse(["session:s1"])


@pytest.mark.parametrize(
    "text", ["tag:team=search", "tag:cost_center=42", "model:openai/gpt-4o:beta", "tool:web_search"]
)
def test_a_label_reads_back_as_it_was_written(text: str) -> None:
    assert str(Scope.parse(text)) == text


def test_tags_become_labels_ordered_by_name() -> None:
    assert [str(tag) for tag in tags_of({"team": "search", "app": "x"})] == ["tag:app=x", "tag:team=search"]


def test_too_many_tags_are_refused() -> None:
    with pytest.raises(InvalidRequest, match=f"at most {MAX_TAGS}"):
        tags_of({f"n{number}": "x" for number in range(MAX_TAGS + 1)})


def test_a_tag_that_a_scope_cannot_have_is_named() -> None:
    with pytest.raises(InvalidScope, match=r"tag:team=a b"):
        tags_of({"team": "a b"})


@pytest.mark.parametrize("tags", [{"team": ".."}, {"team": "."}, {"..": "search"}])
def test_a_tag_that_urls_lose_is_refused(tags: dict[str, str]) -> None:
    with pytest.raises(InvalidScope, match=r"in scope 'tag:.*clients and proxies remove it from URLs"):
        tags_of(tags)
    assert [scope.kind for scope in stored_tags(tags)] == ["tag"], "a task that was submitted with it goes on"


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("../gpt", "model:_/gpt"),
        ("a/./b/..", "model:a/_/b/_"),
        ("..", "model:_"),
        ("..@x", "model:.._x"),
        (".../v1.5", "model:.../v1.5"),
    ],
)
def test_the_label_of_a_model_has_no_part_that_urls_lose(model: str, label: str) -> None:
    assert Scope.parse(str(model_label(model))) == Scope.parse(label)


def test_a_name_of_a_model_is_a_label_whatever_its_characters() -> None:
    assert str(model_label("openai/gpt-4o")) == "model:openai/gpt-4o"
    assert str(model_label("vertex/claude@2024 x")) == "model:vertex/claude_2024_x"


def test_a_caller_adds_to_the_tags_of_its_key_and_never_contradicts_them() -> None:
    assert with_tags_of_key({"app": "x"}, {"team": "search"}) == {"team": "search", "app": "x"}
    assert with_tags_of_key({"team": "search"}, {"team": "search"}) == {"team": "search"}
    with pytest.raises(InvalidRequest, match="tag team=ads contradicts the key, whose calls are all team=search"):
        with_tags_of_key({"team": "ads"}, {"team": "search"})


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ((Scope.parse("session:s1"),), "is no label"),
        ((TEAM, Scope.parse("tag:team=ads")), "two values"),
        ((tool_label("web"), tool_label("web")), "named twice"),
    ],
)
def test_labels_that_cannot_be_charged_once_are_refused(labels: tuple[Scope, ...], said: str) -> None:
    with pytest.raises(InvalidScope, match=said):
        check_labels(labels)


def test_a_label_is_no_level_of_a_path() -> None:
    with pytest.raises(InvalidScope, match="'tag:team=search' is a label, not a level of a path"):
        Path.parse(["session:s1", "tag:team=search"])


def test_a_call_has_the_label_of_its_model() -> None:
    request = HoldRequest("k", PATH, Amount(1), model="gpt-4o", labels=(TEAM,))
    assert [str(label) for label in request.all_labels] == ["tag:team=search", "model:gpt-4o"]


def test_a_key_is_bound_to_the_labels_that_the_caller_stated() -> None:
    plain = HoldRequest("k", PATH, Amount(1))
    tagged = Path(PATH.scopes, (TEAM,))
    assert HoldRequest("k", PATH, Amount(1), labels=(TEAM,)).digest != plain.digest
    assert HoldRequest("k", tagged, Amount(1)).digest != plain.digest
    assert HoldRequest("k", tagged, Amount(1), stated=PATH).digest == plain.digest
