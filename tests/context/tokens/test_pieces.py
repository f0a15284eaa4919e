"""Pieces of long texts: their counts add up to that of the whole."""

import random

import pytest

from purser.context.tokens import pieces
from purser.context.tokens.exact import _encoding, by_tiktoken
from purser.context.tokens.pieces import UNBROKEN
from purser.context.tokens.tokenizers import Vocabulary

WORDS = ("word", " word", "  two", "\n\n", "\t", "it's", "WORLD'S", " 1234567", "a1b22", "...", " ?!\n", "/\n/", " é")
RARE = ("你好", "\u00a0x", "🙂", " 🙂", "'re", "\r\n", "   ", "٣٤", "x²", " ", "a ", "0 ")
PARTS = WORDS + RARE


@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base"])
def test_tokens_of_pieces_add_up_to_those_of_the_text(vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 10)
    monkeypatch.setattr(pieces, "UNBROKEN", 200)
    encoding = _encoding(vocabulary)
    assert encoding
    draw = random.Random(7)
    for _ in range(500):
        text = "".join(draw.choices(PARTS, k=200))
        cut = list(pieces.pieces(text))
        assert "".join(cut) == text
        assert len(cut) > 3
        assert sum(len(encoding.encode_ordinary(one)) for one in cut) == len(encoding.encode_ordinary(text))


def test_no_piece_is_longer_than_what_is_quickly_counted() -> None:
    assert [len(one) for one in pieces.pieces("a" * (2 * UNBROKEN + 1))] == [UNBROKEN, UNBROKEN, 1]
    assert max(len(one) for one in pieces.pieces("word " * UNBROKEN)) <= UNBROKEN
    assert list(pieces.pieces("short")) == ["short"]


def test_a_text_of_one_letter_is_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    encoding = _encoding("o200k_base")
    assert encoding
    count = encoding.encode_ordinary
    seen: list[int] = []

    def counted(text: str) -> list[int]:
        seen.append(len(text))
        return count(text)

    monkeypatch.setattr(encoding, "encode_ordinary", counted)
    tokens = by_tiktoken("b" * 250_000, "o200k_base")
    assert seen == [UNBROKEN, UNBROKEN, 50_000]
    assert tokens == sum(len(count("b" * size)) for size in seen)
