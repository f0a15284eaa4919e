"""Long repetitive messages, as an attacker would write them to make extraction slow or stop it."""

import pytest

from purser.context.compression.extracts.extraction import extract
from purser.context.compression.extracts.pages import is_page, page_text
from purser.context.compression.extracts.parts import parts
from purser.context.compression.extracts.uptake import Uptake
from purser.context.compression.requests import Passage, SummarySource
from tests.support.context.conversations import assistant, calling, result, user

LENGTH = 200_000
"""Characters: tenths of a second in linear time, minutes in quadratic time, which exceeds the timeout."""
PIECES = ["a", "{", "[", "[a](", "![", ":", "**", " ", ", ", '"a" : y ', "- ", "\\", '"', "."]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.proof
def test_a_line_of_one_piece_over_and_over_is_read(piece: str) -> None:
    line = piece * (LENGTH // len(piece)) + "x"
    for text in (line, f'"a": {line}', f"{line}\n" + '"a": 1,\n' * 6):
        is_page(text)
        page_text(text)
        list(parts(text))
    assert not Uptake([Passage("Ann", line)]).takes_up(line, 0)


@pytest.mark.parametrize("inner", ["[", '{"a":', '{"a":['])
@pytest.mark.parametrize("levels", [400, 50_000])
def test_json_that_is_nested_deeply_is_read_as_text(inner: str, levels: int) -> None:
    close = {"[": "]", '{"a":': "}", '{"a":[': "]}"}[inner]
    text = f"{inner * levels}1{close * levels}"
    for deep in (result("call", text), assistant(f'"a": {text}\n' + '"b": 1,\n' * 6)):
        source = SummarySource.of("", [user("My booking is ZX-4417."), calling("call"), deep, user("Go on.")])
        assert "ZX-4417" in extract(source, 60, lambda part: len(part) // 4)
