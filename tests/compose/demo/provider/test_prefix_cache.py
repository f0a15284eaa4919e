"""The cached prefix of a prompt."""

from hypothesis import given
from hypothesis import strategies as st

from purser.compose.demo.provider.prefix_cache import BLOCK, PrefixCache

PROMPTS = st.lists(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 2 * BLOCK)), max_size=4).map(
        lambda runs: [token for token, length in runs for _ in range(length)]
    ),
    max_size=6,
)


def common(one: list[int], other: list[int]) -> int:
    """Length of the longest common prefix."""
    return next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(map(len, (one, other)))
    )


@given(PROMPTS)
def test_the_cached_part_is_the_longest_prefix_seen_before_in_whole_blocks(prompts: list[list[int]]) -> None:
    cache = PrefixCache()
    for number, prompt in enumerate(prompts):
        longest = max((common(prompt, earlier) for earlier in prompts[:number]), default=0)
        assert cache.admit("c", prompt) == longest // BLOCK * BLOCK


def test_conversations_are_separate() -> None:
    cache, prompt = PrefixCache(), list(range(3 * BLOCK))
    assert cache.admit("one", prompt) == 0
    assert cache.admit("two", prompt) == 0
    assert cache.admit("one", prompt) == 3 * BLOCK
