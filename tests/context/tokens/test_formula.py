"""The token formula: its error on samples, and its bounds for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from purser.context.tokens.exact import by_tiktoken
from purser.context.tokens.formula import estimate
from purser.context.tokens.tokenizers import Vocabulary

VOCABULARIES: tuple[Vocabulary, ...] = ("cl100k_base", "o200k_base")
any_text = st.text(st.characters(), max_size=200)
"""Lone surrogates and unassigned code points included."""


@given(any_text, st.sampled_from(VOCABULARIES))
def test_a_text_is_at_least_one_token_and_at_most_its_bytes(text: str, vocabulary: Vocabulary) -> None:
    assert min(1, len(text)) <= estimate(text, vocabulary) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog, and everybody who saw it told it to somebody else.",
        "你今天想去哪里吃饭？我知道附近有一家不错的面馆，不过周末人比较多。",
        "你今天想去哪裡吃飯？我知道附近有一家不錯的麵館，不過週末人比較多，我們還是早點過去。",
        "Искусственный интеллект меняет нашу жизнь и ставит перед нами новые вопросы.",
        "인공지능은 우리의 삶을 바꾸고 있으며 새로운 질문을 던집니다.",
        "def total(items: list[int]) -> int:\n    return sum(item for item in items if item > 0)\n",
    ],
    ids=["English", "Chinese", "Traditional Chinese", "Russian", "Korean", "code"],
)
def test_each_script_is_estimated_by_its_own_weights(text: str, vocabulary: Vocabulary) -> None:
    exact = by_tiktoken(text, vocabulary)
    assert exact is not None
    assert estimate(text, vocabulary) == pytest.approx(exact, rel=0.3)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("7" * 300, 114),
        ("!" * 100, 42),
        ("! " * 100, 44),
        ("\n " * 100, 81),
        ("  \t" + "a  " * 100, 120),
        ("zyx " * 100, 80),
        ("zyxw " * 100, 194),
        ("zyxwvu " * 100, 194),
        ("zyxwvut " * 100, 132),
        ("zyxwvutsr " * 100, 132),
        ("zyxwvutsrq " * 100, 450),
        ("zyxwvutsrqpon " * 100, 450),
        ("zyxwvutsrqponm " * 100, 280),
        ("zyx zyxwvutsrqponm " * 100, 360),
        ("ZYX " * 100, 370),
    ],
)
def test_each_feature_counts_with_its_weight(text: str, tokens: int) -> None:
    assert estimate(text, "cl100k_base") == tokens


def test_english_is_recognized_by_its_function_words() -> None:
    english = "there would have been more than they have"
    nonsense = "thare wauld hove baan mure thon thay hove"
    assert len(english) == len(nonsense)
    assert estimate(english, "o200k_base") < estimate(nonsense, "o200k_base")


def test_the_estimate_of_nothing_is_nothing() -> None:
    assert estimate("", "o200k_base") == 0
