"""Rank fusion."""

from purser.context.retrieval.fusion import fuse


def test_what_both_find_goes_before_what_one_finds() -> None:
    assert next(iter(fuse(["a", "b", "c"], ["d", "c"]))) == "c"


def test_what_only_one_finds_is_included() -> None:
    assert set(fuse(["a"], ["b"], [])) == {"a", "b"}


def test_the_order_of_one_stays() -> None:
    assert list(fuse(["a", "b", "c"])) == ["a", "b", "c"]
