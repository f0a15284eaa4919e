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


def test_which_cases_are_drawn_follows_the_seed_and_keeps_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "SHARE", 0)
    drawn = []
    for seed in ("1", "1", "2"):
        monkeypatch.setenv("PURSER_TEST_SEED", seed)
        drawn.append(proof.some(range(1_000), 10))
    assert drawn[0] == drawn[1] == sorted(drawn[0])
    assert drawn[0] != drawn[2]
