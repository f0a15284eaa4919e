"""What adapters pass to each call: whose budget it is, and keys that stay when their work is tried again."""

import asyncio
from typing import Any

import pytest

from purser_client import InvalidRequest, PurserError, budget_path
from purser_client.calls.options import CallOptions, asked, trying, under_hold
from purser_client.calls.terms import Terms
from purser_client.operations import holds


def test_the_path_of_the_block_goes_before_that_of_the_adapter() -> None:
    with budget_path("user:ana", "session:s1"):
        assert asked({"path": ["session:other"]}, None)["path"] == ("user:ana", "session:s1")
    assert asked({"path": ["session:other"]}, None)["path"] == ["session:other"]


def test_a_call_without_a_path_says_how_to_name_one() -> None:
    with pytest.raises(PurserError, match=r"pass path=.*budget_path"):
        asked({}, None)


@pytest.mark.parametrize("path", ["session:s1", ["session:s1", 5], (None,)])
def test_a_path_is_a_list_of_texts_and_a_single_text_is_not_read_letter_by_letter(path: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"the path .* is no list of texts. Write for example \['user:ana'"):
        Terms(path=path)
    with pytest.raises(InvalidRequest, match="is no list of texts"):
        holds.ask(path, 1)
    with pytest.raises(InvalidRequest, match="is no list of texts"), budget_path(path[0], 5):  # type: ignore[arg-type]
        pass


async def test_tasks_of_a_block_have_its_path() -> None:
    async def look() -> object:
        return asked({}, None)["path"]

    with budget_path("session:s1"):
        looking = asyncio.create_task(look())
    assert await looking == ("session:s1",)


def test_the_limit_of_a_request_goes_before_that_of_the_adapter() -> None:
    options = CallOptions(path=["session:s1"], max_output_tokens=500)
    assert asked(options, 30)["max_output_tokens"] == 30
    assert asked(options, None)["max_output_tokens"] == 500


def test_keys_stay_when_work_is_tried_again_and_differ_between_its_calls() -> None:
    keys = []
    for tries in (1, 2):
        with trying("w/r/1", tries):
            made = [asked({"path": ["session:s1"]}, None) for _ in range(2)]
        keys.append([one["key"] for one in made])
        assert [one["tries"] for one in made] == [tries, tries]
    assert keys == [["w/r/1", "w/r/1#2"]] * 2
    assert "key" not in asked({"path": ["session:s1"]}, None)


def test_what_is_held_as_a_whole_is_not_held_again_inside() -> None:
    with under_hold(), pytest.raises(PurserError, match=r"activities=\(\)"):
        asked({"path": ["session:s1"]}, None)
