"""Pages that agents paste: what of them is left, and what only surrounds it."""

import pytest

from purser.context.compression.extracts.pages import is_page, is_sentence, opening, page_text
from purser.context.compression.extracts.parts import parts


def left(*lines: str) -> list[str]:
    """The parts that are left of a page."""
    return list(parts(page_text("\n".join(lines))))


@pytest.mark.parametrize(
    "line",
    [
        '    "og:title": "The best lamps of the year - Lampenhaus",',
        '    "viewport": "width=device-width, initial-scale=1",',
        '    "google-site-verification": "h4Xq9",',
        '    "width": 600,',
        '    "og:description": "Find all of the best lamps of this year in our shop.",',
        '    "answer": true,',
        '    "is_open": true,',
        "    },",
        '    "keywords": ["Lampen", "Licht"],',
        "/usr/lib/python3/agents/coder.py:55: UserWarning: mismatch",
        '  File "/usr/lib/python3/agents/coder.py", line 55',
    ],
)
def test_data_about_a_page_is_left_out(line: str) -> None:
    assert left("The lamp costs $30.", line) == ["The lamp costs $30."]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            '    "reason": "The lamp was not found in either of the two shops.",',
            "The lamp was not found in either of the",
        ),
        (
            '    "grund": "Die Lampe war in keinem der beiden Läden zu finden.",',
            "Die Lampe war in keinem der beiden Läden",
        ),
        (
            '    "razon": "No encontramos la lámpara en ninguna tienda.",',
            "No encontramos la lámpara en ninguna tienda.",
        ),
        ('    "total_price": 305,', "total_price: 305."),
        ('    "status": "confirmed",', "status: confirmed."),
    ],
)
def test_values_that_are_sentences_amounts_and_outcomes_stay(line: str, said: str) -> None:
    [part] = left("{", line, "}")
    assert part.startswith(said)


@pytest.mark.parametrize(
    "menu",
    [
        ["SEARCH", "IMAGES", "VIDEOS", "MAPS"],
        ["Startseite", "Über uns", "Anmelden", "Warenkorb"],
        ["首页", "新闻", "登录", "注册"],
        ["**Buttons:** Weather, Events, History, Travel guide"],
        ["Inicio | Productos | Contacto | Ayuda"],
    ],
)
def test_menus_are_left_out(menu: list[str]) -> None:
    assert left("The lamp costs $30.", "", *menu, "", "It is sold out.") == ["The lamp costs $30.", "It is sold out."]


def test_entries_below_each_other_stay_together_with_what_is_said_of_them() -> None:
    assert left(
        "Results:", "1. Corner Lamps", "   12 Harbour Road · opens at 08:00", "2. Luz y Sol", "   Calle Mayor 7"
    ) == ["Results: Corner Lamps, 12 Harbour Road · opens at 08:00; Luz y Sol, Calle Mayor 7"]
    assert left("Corner Lamps", "12 Harbour Road", "", "Sold since 1999.") == [
        "Corner Lamps; 12 Harbour Road",
        "Sold since 1999.",
    ]


def test_long_addresses_of_links_are_left_out() -> None:
    long = "https://shop.example/search?q=" + "lamp+" * 20
    assert left(f"See [all lamps]({long}) there.") == ["See all lamps there."]
    assert left("See [all lamps](https://shop.example) there.") == ["See [all lamps](https://shop.example) there."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n".join(["Lampenhaus", "Startseite", "Angebote", "Stehlampe", "49 €", "In den Warenkorb"]), True),
        ("\n".join(["Here it is.", "{", '  "a": "b",', '  "c": 1,', "}", "Done."]), True),
        ("\n".join(["首页", "台灯", "三百元", "加入购物车", "登录", "关于我们"]), True),
        ("\n".join([f"- Option {number}: the train at {number}:30" for number in range(1, 9)]), False),
        ("\n".join(["I looked at all of the lamps.", "The cheapest one costs $30."] * 4), False),
        ("\n".join(["We looked.", "It is shut.", "Ask Ann.", "Well.", '"a": 1,', '"b": 2,', "{", "Done."]), True),
        ("\n".join(["Menü", "- Lampen", "- Tische", "- Stühle", "- Kontakt", "- Hilfe"]), True),
        ("Stehlampe\n49 €", False),
    ],
)
def test_a_page_is_told_from_what_somebody_wrote(text: str, expected: bool) -> None:
    assert is_page(text) is expected


def test_a_sentence_that_is_cut_off_is_none() -> None:
    assert [is_sentence(text) for text in ("It is sold.", "它卖完了。", 'He said "go."', "So...", "Sold out")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_sentences_that_begin_alike_have_one_opening() -> None:
    assert opening("The viewport shows 21 % of it.") == opening("the viewport shows 21 pages")
    assert opening("请求还没有完成，因为价格未知。") == opening("请求还没有完成，因为店关门。")
    assert opening("The lamp is sold.") != opening("The shop is closed.")
