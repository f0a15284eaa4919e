"""What a fact shows of a long sentence: clauses that can be understood alone."""

import re

import pytest

from purser.context.facts.clauses import around


def shown(sentence: str, value: str) -> str:
    """What is shown of a sentence around a value."""
    match = re.search(re.escape(value), sentence)
    assert match
    return around(match)


@pytest.mark.parametrize(
    ("sentence", "value", "expected"),
    [
        (
            "My name is Priya, and this is the first time that I write to your company about one of your machines.",
            "Priya",
            "My name is Priya",
        ),
        (
            "Mein Name ist Jonas, und ich schreibe Ihnen heute zum ersten Mal wegen einer Ihrer Maschinen.",
            "Jonas",
            "Mein Name ist Jonas",
        ),
        (
            "Me llamo Lucía Prado, y es la primera vez que les escribo acerca de una de sus nuevas lavadoras.",
            "Lucía Prado",
            "Me llamo Lucía Prado",
        ),
        (
            "The report says that they were delayed by the snow, the new date is the 4th of May, and all agreed.",
            "4th of May",
            "the new date is the 4th of May",
        ),
    ],
)
def test_no_clause_ends_with_the_word_that_joins_the_next(sentence: str, value: str, expected: str) -> None:
    assert shown(sentence, value) == expected


@pytest.mark.parametrize(
    ("sentence", "value", "expected"),
    [
        (
            "I used to love oysters, but since the operation I eat no seafood at all, so please tell the cook.",
            "oysters",
            "I used to love oysters, but since the operation I eat no seafood at all",
        ),
        (
            "Früher mochte ich Austern sehr, aber seit der Operation esse ich keine Meeresfrüchte mehr, bitte sagen.",
            "Austern",
            "Früher mochte ich Austern sehr, aber seit der Operation esse ich keine Meeresfrüchte mehr",
        ),
        (
            "我以前很喜欢吃牡蛎和各种各样的海鲜，但手术以后一点海鲜都不能再吃了，所以请您先跟厨房确认一下菜单，"
            "如果菜单里面有任何海鲜，就请换成素菜，价格贵一点也没有关系，我们一共有六个人，晚上七点左右到，谢谢您的帮助。",
            "牡蛎",
            "我以前很喜欢吃牡蛎和各种各样的海鲜，但手术以后一点海鲜都不能再吃了",
        ),
    ],
)
def test_a_clause_comes_with_the_one_that_turns_it(sentence: str, value: str, expected: str) -> None:
    assert shown(sentence, value) == expected


@pytest.mark.parametrize(
    ("sentence", "value", "expected"),
    [
        (
            "Living in Oslo, I order most of my furniture from abroad, which takes a while, mostly in winter.",
            "Oslo",
            "Living in Oslo, I order most of my furniture from abroad",
        ),
        (
            "Seit dem Umzug nach Graz, bestelle ich meine Möbel im Ausland, was oft dauert, meist im Winter.",
            "Graz",
            "Seit dem Umzug nach Graz, bestelle ich meine Möbel im Ausland",
        ),
        (
            "Desde que vivo en Oslo, pido casi todos mis muebles al extranjero, y eso tarda mucho, como sabes.",
            "Oslo",
            "Desde que vivo en Oslo, pido casi todos mis muebles al extranjero",
        ),
    ],
)
def test_an_opening_clause_comes_with_what_it_opens(sentence: str, value: str, expected: str) -> None:
    assert shown(sentence, value) == expected


@pytest.mark.parametrize(
    ("sentence", "value", "expected"),
    [
        (
            "The two funds held on through the whole winter, raising $574 million from pension funds, as we read.",
            "$574 million",
            "The two funds held on through the whole winter, raising $574 million from pension funds",
        ),
        (
            "Der Fonds hielt sich den ganzen Winter gut, war im März 574 Millionen wert, wie wir damals lasen.",
            "574 Millionen",
            "Der Fonds hielt sich den ganzen Winter gut, war im März 574 Millionen wert",
        ),
    ],
)
def test_a_clause_without_subject_comes_with_the_one_before(sentence: str, value: str, expected: str) -> None:
    assert shown(sentence, value) == expected


def test_a_lone_quote_is_dropped_and_a_pair_stays() -> None:
    rest = ", and then she read the whole list to the board, name by name, until everybody had heard it."
    assert shown(f'"The members of Acme Ltd are known{rest}', "Acme") == "The members of Acme Ltd are known"
    assert shown(f'They call it "Acme Ltd" these days{rest}', "Acme") == 'They call it "Acme Ltd" these days'


@pytest.mark.parametrize("entry", ["Flight number: HAT030", "Zug: ICE-597", "航班：HU7705"])
def test_an_entry_of_a_list_is_shown_without_its_bullet(entry: str) -> None:
    assert shown(f"- {entry}", entry[-6:]) == entry


def test_clauses_are_joined_up_to_a_length() -> None:
    sentence = "was " + "very " * 40 + "long, was $5, " + "was " * 60
    assert shown(sentence, "$5") == "was $5"
