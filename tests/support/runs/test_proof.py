"""How much of what is slow by nature runs."""

import pytest

from tests.support.runs import proof


@pytest.mark.parametrize(("share", "size"), [(0, 3), (0.001, 3), (0.1, 20), (1, 200)])
def test_a_size_grows_with_the_share_from_a_small_one_to_all(
    monkeypatch: pytest.MonkeyPatch, share: float, size: int
) -> None:
    monkeypatch.setattr(proof, "SHARE", share)
    assert proof.sized(3, 200) == size
    assert len(proof.some(range(200), 3)) == size


@pytest.mark.parametrize("by", ["PURSER_TEST_SEED", "PURSER_TEST_DRAW"])
def test_which_cases_are_drawn_follows_the_draw_or_else_the_seed_and_keeps_their_order(
    monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(proof, "SHARE", 0)
    monkeypatch.setenv("PURSER_TEST_SEED", "1")
    monkeypatch.delenv("PURSER_TEST_DRAW", raising=False)
    drawn = []
    for value in ("1", "1", "2"):
        monkeypatch.setenv(by, value)
        drawn.append(proof.some(range(1_000), 10))
    assert drawn[0] == drawn[1] == sorted(drawn[0])
    assert drawn[0] != drawn[2]


def marked(request: pytest.FixtureRequest, *marks: str) -> list[pytest.Item]:
    """Forty-eight tests, each with two cases."""
    items: list[pytest.Item] = []
    for number in range(48):
        for case in "ab":
            name = f"test_{'_'.join(marks)}_{number}[{case}]"
            items.append(pytest.Function.from_parent(request.node.parent, name=name, callobj=lambda: None))
            for mark in marks:
                items[-1].add_marker(mark)
    return items


@pytest.fixture
def long_tests(request: pytest.FixtureRequest) -> list[pytest.Item]:
    """Forty-eight tests marked `proof`, each with two cases."""
    return marked(request, "proof")


def executed(tests: list[pytest.Item]) -> list[str]:
    return [test.name for test in proof.executed(tests)]


@pytest.mark.parametrize(
    ("marks", "number"), [(["proof"], 48 // 16), (["stack"], 48 // 8), (["stack", "proof"], 48 // 16)]
)
def test_a_run_with_a_share_executes_some_of_the_long_tests_with_all_their_cases_and_every_other_test(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, marks: list[str], number: int
) -> None:
    monkeypatch.setattr(proof, "SHARE", 0.03)
    chosen = executed([request.node, *marked(request, *marks)])
    assert chosen[0] == request.node.name
    assert len(chosen) == 1 + number * 2
    assert chosen[1::2] == [name.replace("[b]", "[a]") for name in chosen[2::2]]


def test_which_long_tests_run_follows_the_draw_and_all_run_at_last(
    monkeypatch: pytest.MonkeyPatch, long_tests: list[pytest.Item]
) -> None:
    monkeypatch.setattr(proof, "SHARE", 0.03)
    drawn = []
    for commit in ("1", "1", *map(str, range(2, 100))):
        monkeypatch.setenv("PURSER_TEST_DRAW", commit)
        drawn.append(executed(long_tests))
    assert drawn[0] == drawn[1] != drawn[2]
    assert {name for names in drawn for name in names} == {item.name for item in long_tests}


@pytest.mark.parametrize("share", [0, 1])
def test_a_whole_proof_and_a_run_by_hand_leave_nothing_out(
    monkeypatch: pytest.MonkeyPatch, long_tests: list[pytest.Item], share: float
) -> None:
    monkeypatch.setattr(proof, "SHARE", share)
    assert executed(long_tests) == [item.name for item in long_tests]
