"""What later messages take up of an earlier one."""

import pytest

from purser.context.compression.extracts.uptake import Uptake
from purser.context.compression.requests import Passage


@pytest.mark.parametrize(
    ("part", "reply"),
    [
        ("Corner Lamps; 12 Harbour Road", "Please open the page of Corner Lamps."),
        ("Zug ICE-597, ab 10:12", "Ich nehme den ICE-597."),
        ("方案：HU7705，三百元", "就订HU7705吧。"),
    ],
)
def test_names_and_numbers_that_others_use_later_are_taken_up(part: str, reply: str) -> None:
    said = (Passage("ann", "please look"), Passage("finder", part), Passage("ann", reply))
    assert Uptake(said).takes_up(part, 1)


def test_what_nobody_or_only_the_same_speaker_uses_is_not() -> None:
    said = (Passage("finder", "Corner Lamps; Luz y Sol"), Passage("finder", "Corner Lamps"), Passage("ann", "Well."))
    assert not Uptake(said).takes_up("Corner Lamps", 0)
    assert not Uptake(said).takes_up("Luz y Sol", 0)


def test_what_an_earlier_message_brought_up_is_not_taken_up_from_a_later_one() -> None:
    said = (Passage("ann", "Is Corner Lamps open?"), Passage("finder", "Corner Lamps"), Passage("ann", "Corner Lamps!"))
    assert Uptake(said).takes_up("Corner Lamps", 0) is True
    assert Uptake(said).takes_up("Corner Lamps", 1) is False


def test_results_of_tools_neither_bring_up_nor_take_up() -> None:
    found = Passage("shop", "HAT136, HAT137", role="tool")
    said = (
        found,
        Passage("agent", "HAT136 or HAT137"),
        Passage("user", "HAT136"),
        Passage("shop", "HAT137", role="tool"),
    )
    assert Uptake(said).takes_up("HAT136", 1)
    assert not Uptake(said).takes_up("HAT137", 1)
