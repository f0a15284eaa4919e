"""Extractive summaries."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from purser.context.compression.extracts.extraction import extract, extract_layers
from purser.context.compression.requests import Passage, SummarySource
from purser.context.conversation.messages import Message
from purser.context.tokens import count_text
from tests.support.context.conversations import assistant, result, talk, user


def count(text: str) -> int:
    """Tokens of a text."""
    return count_text(text, "gpt-4o").tokens


def test_sentences_that_say_something_go_before_those_that_do_not() -> None:
    source = SummarySource.of(
        "",
        [
            user("Hello there and good morning to you. I hope you are well. My booking is ZX-4417 for Anna Berg."),
            assistant("Thank you so much for telling me that. We cannot refund it. Let me have a look at it for you."),
        ],
    )
    text = extract(source, 24, count)
    assert "ZX-4417" in text
    assert "cannot refund" in text
    assert "Hello" not in text
    assert "Thank you" not in text


def test_what_happened_when_goes_before_praise_of_the_same_length() -> None:
    source = SummarySource.of(
        "",
        [
            user("That sounds so wonderful and it really makes everybody happy!"),
            user("I moved into the small flat by the river last week."),
            assistant("What a great and truly inspiring thing to be able to say!"),
        ],
    )
    assert extract(source, 18, count) == "user: I moved into the small flat by the river last week."


def test_an_answer_goes_before_the_same_words_without_a_question() -> None:
    said = "the blue one with the wooden handle"
    dense = [Passage("ben", f"room {number}, key {number + 7}, floor {number + 9}") for number in range(100, 105)]
    asked = Passage("ben", "which of them would you rather take?")
    source = SummarySource("", (Passage("anna", said), *dense, asked, Passage("cleo", said)))
    wanted = "\n".join([*(f"{one.speaker}: {one.text}" for one in dense), f"cleo (asked “{asked.text}”): {said}"])
    assert extract(source, count(wanted) + 1, count) == wanted


def test_a_short_message_stays_whole_and_a_long_one_gives_single_sentences() -> None:
    short = "It was a quiet evening at home. We then watched the film from 1999."
    padding = "It was one of those days on which nothing much happens to anyone at all. " * 20
    source = SummarySource.of("", [user(short), assistant(f"{padding}The code is 7731. {padding}")])
    lines = extract(source, 200, count).splitlines()
    assert f"user: {short}" in lines
    assert "assistant: The code is 7731." in lines


@pytest.mark.parametrize(
    ("happened", "idle"),
    [
        ("我昨天搬到了河边的公寓。", "这听起来真的非常好听呀。"),
        ("昨日、川の近くに引っ越しました。", "それは本当にとても素敵ですね。"),
        ("어제 강가의 집으로 이사했어요.", "그건 정말 아주 멋진 일이네요."),
    ],
)
def test_past_events_are_recognized_in_chinese_japanese_and_korean(happened: str, idle: str) -> None:
    source = SummarySource.of("", [user(idle), user(happened), assistant(idle + idle)])
    assert extract(source, count(f"user: {happened}\n"), count) == f"user: {happened}"


def test_the_number_of_a_lists_entry_is_no_sentence() -> None:
    steps = "\n".join(f"{number}. Take the {number} keys of room {number}00 along" for number in range(1, 40))
    text = extract(SummarySource.of("", [assistant(steps)]), 100, count)
    assert text
    assert not any(line.endswith((" 1.", " 2.", " 3.")) for line in text.splitlines())


def test_sentences_keep_their_order_words_and_speaker() -> None:
    source = SummarySource.of("", talk(40))
    lines = extract(source, 300, count).splitlines()
    said = [f"{passage.speaker}: {passage.text}" for passage in source.passages]
    places = [next(place for place, text in enumerate(said) if _within(line, text)) for line in lines]
    assert len(lines) > 3
    assert places == sorted(places)


def _within(line: str, said: str) -> bool:
    speaker, _, sentence = line.partition(": ")
    return said.startswith(f"{speaker}: ") and sentence in said


def test_chinese_stays_chinese() -> None:
    source = SummarySource.of(
        "", [user("你好，很高兴认识你。我的订单号是8842，地址在北京市海淀区。我不吃辣。"), assistant("好的。")] * 3
    )
    text = extract(source, 40, count)
    assert "8842" in text
    assert text.isascii() is False
    assert len(text.splitlines()) == len(set(text.splitlines())), "a repeated sentence is included once"


def test_the_last_version_is_merged_not_nested() -> None:
    first = extract(SummarySource.of("", talk(40)), 200, count)
    second = extract(SummarySource.of(first, talk(80)[40:]), 200, count)
    assert set(second.splitlines()) & set(first.splitlines()), "facts of the last version survive"
    assert count(second) <= 200
    assert all(line.startswith(("user: ", "assistant: ")) for line in second.splitlines())
    assert not any(
        line.startswith(("user: user", "assistant: assistant", "user: assistant")) for line in second.splitlines()
    )


def test_a_wall_of_text_is_cut_into_pieces_that_fit() -> None:
    blob = json.dumps({f"key{number}": number * 7 for number in range(2_000)})
    text = extract(SummarySource.of("", [result("c1", blob)]), 300, count)
    assert 150 < count(text) <= 300


@settings(deadline=None)
@given(
    texts=st.lists(st.text(max_size=120), max_size=15),
    old=st.text(max_size=200),
    most=st.integers(0, 200),
)
def test_an_extract_never_exceeds_its_length_and_repeats(texts: list[str], old: str, most: int) -> None:
    source = SummarySource.of(old, [user(text) for text in texts])
    text = extract(source, most, count)
    assert not text or count(text) <= most
    assert "\0" not in "".join(passage.text for passage in source.passages)
    assert extract(source, most, count) == text


# --- by kind of conversation -----------------------------------------------------------------------------------------

LECTURE = "Use the tables of Berlin, Paris and Rome from May {0}, with {0} rows for Anna Berg and {1} for Ben Frey."


def test_what_users_say_is_not_drowned_by_the_long_answers_of_an_assistant() -> None:
    asked = [f"My database has {number} tables and I want to keep it on my own machine." for number in range(8)]
    messages: list[Message] = []
    for number, text in enumerate(asked):
        lecture = " ".join(LECTURE.format(place, 100 * number + place) for place in range(12))
        messages += [user(text), assistant(lecture)]
    lines = extract(SummarySource.of("", messages), 300, count).splitlines()
    assert [line for line in lines if line.startswith("user: ")] == [f"user: {text}" for text in asked]


FLIGHT = "I can do that for you and for all of the others as well. For which date should I book the flight?"


def test_an_answer_that_says_little_alone_comes_with_its_question_and_any_other_without() -> None:
    source = SummarySource.of(
        "",
        [
            assistant(FLIGHT),
            user("May 20."),
            assistant("Which of the many hotels there do you and the others want?"),
            user("I want to stay at the Hotel Astoria in Lisbon, which is close to the harbour."),
        ],
    )
    lines = extract(source, 48, count).splitlines()
    assert lines == [
        "user (asked “For which date should I book the flight?”): May 20.",
        "user: I want to stay at the Hotel Astoria in Lisbon, which is close to the harbour.",
    ]


def test_an_answer_stands_without_its_question_where_that_message_is_shown_itself() -> None:
    """The room of the quotation goes to another message."""
    asked = "Is it flight LH 1172 to Rome on May 20?"
    said = [Passage("anna", asked), Passage("ben", "Yes."), Passage("anna", "Well, that is one way to look at it.")]
    room = count(f"anna: {asked}\nben (asked “{asked}”): Yes.\n") + 1
    lines = [f"{one.speaker}: {one.text}" for one in said]
    assert extract(SummarySource("", tuple(said)), room, count).splitlines() == lines


def test_an_answer_about_that_one_names_what_was_meant_and_its_question_stands_there_alone() -> None:
    source = SummarySource.of(
        "",
        [
            user("推荐一个景点吧。"), assistant("推荐您去八达岭长城游玩。"),
            user("这个景点的地址在哪啊？"), assistant("地址是在北京市延庆县京藏高速58号出口右转。"),
            user("景点的周边有餐馆吗？"), assistant("周边的餐馆有赛百味。"),
        ],
    )  # fmt: skip
    lines = extract(source, 200, count).splitlines()
    about = "asked “这个景点的地址在哪啊？” after “推荐您去八达岭长城游玩。”"
    assert f"assistant ({about}): 地址是在北京市延庆县京藏高速58号出口右转。" in lines
    assert "assistant (asked “景点的周边有餐馆吗？”): 周边的餐馆有赛百味。" in lines
    assert lines[0] == "user: 推荐一个景点吧。"
    assert len(lines) == 4, "the answers show the questions"


def test_what_users_say_counts_twice_beside_the_short_replies_of_an_assistant() -> None:
    wishes = [f"I would like 3 chairs by the window of room {number}." for number in range(1, 7)]
    said = [one for wish in wishes for one in (user(wish), assistant(wish.replace("I would like", "You get")))]
    lines = extract(SummarySource.of("", said), count("\n".join(f"user: {wish}" for wish in wishes)) + 1, count)
    assert lines.splitlines() == [f"user: {wish}" for wish in wishes]


def test_what_corrects_an_amount_goes_before_requests_that_only_count() -> None:
    correction = "更正一下：预算改到9200元，日期改到6月20日。"
    asked = [user(f"请再讲讲第{number}个故事吧。") for number in range(24)]
    source = SummarySource.of("", [one for ask in [*asked, user(correction)] for one in (ask, assistant("很久以前。"))])
    assert f"user: {correction}" in extract(source, count(f"user: {correction}") + 4, count)


def test_of_agents_with_tools_outcomes_go_before_plans() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    called = Message("assistant", "", tool_calls=(call,))
    outcome = "Therefore the trail around the old harbour has the most reviews of all trails."
    plan = "Experts seek popular harbour trails, compare ratings and count reviews."
    written = f"Let's begin by searching for the trails.\n\n{plan}\n\n{outcome}\n\n{'Nothing else is known. ' * 40}"
    source = SummarySource.of(
        "", [user("Which trail?"), called, Message("tool", "[]", tool_call_id="c1"), assistant(written)]
    )
    shown = extract(source, 44, count)
    assert outcome in shown
    assert "Let's begin" not in shown
    assert plan not in shown


@pytest.mark.parametrize(
    "hollow",
    [
        "Which kind of hotel is this one then, a quiet or loud one?",
        "Was für ein Hotel ist das denn nun eigentlich, laut oder leise?",
        "Können Sie mir denn vielleicht noch Hotels zeigen, die sehr ruhig sind?",
        "难道不安静也没有早餐，不好吗？",
    ],
)
def test_a_question_that_names_nothing_goes_after_what_users_state(hollow: str) -> None:
    stated = "It would be nice to be in some place that is quiet."
    said = [
        user(hollow),
        assistant("It is described at length on its pages, please read all of it there."),
        user(stated),
        assistant("Well then, we will have a look at it again."),
    ]
    room = max(count(f"user: {text}\n") for text in (hollow, stated)) + 1
    assert extract(SummarySource.of("", said), room, count) == f"user: {stated}"


def test_a_question_without_its_mark_is_shown_once_with_its_answer() -> None:
    asked = "评分四分以上的酒店有哪家。"
    text = extract(SummarySource.of("", [user(asked), assistant("和颐酒店。"), user("好的。")]), 200, count)
    assert text == f"assistant (asked “{asked}”): 和颐酒店。"


PAGE = """\
I typed 'lamps' into the search box.

Lampenhaus
Best lamps of the year
Corner Lamps
12 Harbour Road, Chicago
Luz y Sol
7 Mayor Street, Chicago

The viewport shows 21% of the page.
"""
"""What an agent pastes of a page."""


def agents(*said: tuple[str, str]) -> SummarySource:
    """Agents that work for a user."""
    return SummarySource.of(
        "", [user("Which shop sells lamps?"), *(Message("assistant", text, name=name) for name, text in said)]
    )


def test_of_agents_that_read_pages_the_steps_are_left_out_and_what_others_take_up_stays() -> None:
    listed = (
        "Lampenhaus; Best lamps of the year; Corner Lamps; 12 Harbour Road, Chicago; Luz y Sol; 7 Mayor Street, Chicago"
    )
    plan = ("Planner", "Find the shops with lamps of Anna and Ben in Rome.")
    room = count(f"Surfer: {listed}\n") + 8
    taken, ignored = (
        extract(agents(plan, ("Surfer", PAGE), ("Planner", reply)), room, count)
        for reply in ("Is Luz y Sol open?", "Is it open?")
    )
    assert listed in taken
    assert listed not in ignored
    assert plan[1] in ignored
    assert "I typed" not in extract(agents(plan, ("Surfer", PAGE)), 400, count)


@pytest.mark.parametrize(
    ("offers", "chosen", "reply"),
    [
        (("HAT081, at 06:00, $121", "HAT136, at 07:00, $152"), "HAT136", "I take HAT136."),
        (("ICE-597 um 06:00, 81 €", "ICE-703 um 07:00, 92 €"), "ICE-703", "Ich nehme den ICE-703."),
        (("HU7705，06:00，三百元", "HU7811，07:00，四百元"), "HU7811", "就订HU7811吧。"),
    ],
)
def test_of_what_a_lone_agent_offers_what_the_user_takes_up_goes_first(
    offers: tuple[str, str], chosen: str, reply: str
) -> None:
    """Also before a total that nobody asked for, which counts like a sentence."""
    found = Message("tool", "[]", tool_call_id="c1")
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    listed = "\n\n".join(f"**{place}**\n- {offer}" for place, offer in enumerate(offers, 1))
    written = f"{listed}\n\n{'Nothing else is known about it. ' * 60}"
    said = [user("Which ones?"), Message("assistant", "", tool_calls=(call,)), found, assistant(written), user(reply)]
    text = extract(SummarySource.of("", said), count(f"user: {reply}\nassistant: 2: {offers[1]}\n") + 6, count)
    assert f"2: {offers[1]}" in text
    assert offers[0] not in text


@pytest.mark.parametrize("total", ["Total cost: 305", "Gesamtpreis: 305", "总价：305"])
def test_a_total_that_a_lone_agent_lists_goes_before_what_it_offers(total: str) -> None:
    found = Message("tool", "[]", tool_call_id="c1")
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    written = f"- Offer: 121\n\n**In all**\n- {total}\n\n{'Nothing else is known about it. ' * 60}"
    said = [user("Which ones?"), Message("assistant", "", tool_calls=(call,)), found, assistant(written), user("Yes.")]
    text = extract(SummarySource.of("", said), count(f"assistant: In all: {total}\n") + 2, count)
    assert text == f"assistant: In all: {total}"


def test_of_sentences_that_agents_word_alike_in_each_step_the_last_one_stays() -> None:
    steps = [
        (
            "Planner",
            f'{{\n"a": 1,\n"b": 2,\n"c": 3,\n"reason": "The request is still not met, as lamp {at} is missing.",\n}}',
        )
        for at in range(1, 5)
    ]
    text = extract(agents(*steps, ("Surfer", "It is dark in here.")), 400, count)
    assert "lamp 4" in text
    assert "lamp 1" not in text


def test_what_one_agent_thinks_and_then_tells_another_is_shown_once() -> None:
    said = "Please look for the lamp of Luz y Sol on the pages of the shop in Mayor Street."
    text = extract(agents(("Planner (thought)", said), ("Planner (to Surfer)", said), ("Surfer", "Well.")), 400, count)
    assert text.count("Mayor Street") == 1
    assert "Planner (to Surfer): Please" in text


def test_preferences_and_decisions_go_before_other_messages_of_their_length() -> None:
    said = [
        user("The people in there were all very kind to everybody else."),
        user("I never eat meat and I am allergic to peanuts and eggs."),
        assistant("It looks as if there were quite a few ways to do that."),
        user("We decided to stay with the first of the three plans."),
    ]
    lines = extract(SummarySource.of("", said), 32, count).splitlines()
    assert lines == [f"user: {said[1].text}", f"user: {said[3].text}"]


@pytest.mark.parametrize(
    ("amounts", "times"),
    [
        ("The order has 12 lamps for 480 and 3 shades in all.", "We were at the lake with the family last week."),
        ("Der neue Auftrag hat 12 Lampen und dazu noch 3 Schirme aus Glas.", "I was there with them last week."),
        ("订单有 12 盏灯 480 元和 3 个灯罩 一共", "我上周和家里人一起去过了湖边玩"),
    ],
)
def test_amounts_count_more_where_somebody_writes_alone_than_in_a_chat(amounts: str, times: str) -> None:
    said = [user(amounts), user(times)]
    room = max(count(f"user: {text}\n") for text in (amounts, times)) + 1
    assert extract(SummarySource.of("", said), room, count) == f"user: {amounts}"
    assert extract(SummarySource.of("", [*said, Message("user", "Ok.", name="ben")]), room, count) == f"user: {times}"


def test_relative_times_are_made_absolute_by_the_time_of_the_message() -> None:
    source = SummarySource("", (Passage("Ann", "I moved to Lisbon yesterday.", at=datetime(2023, 5, 8, tzinfo=UTC)),))
    assert extract(source, 60, count) == "Ann (yesterday = 2023-05-07): I moved to Lisbon yesterday."


# --- two layers at once ---------------------------------------------------------------------------------------------

BOOKING = "user: My booking ZX-4417 of 4 May for Anna Berg costs $312."
"""A line of an older layer."""
IDLE = "user: Well, that is one way to look at all of it."


def layers(old: list[str], new: list[Message], most_tokens: int, least: tuple[int, int] = (0, 0)) -> tuple[str, str]:
    """The texts of an older layer with these lines and of a newer one with these messages."""
    return extract_layers(SummarySource.of("\n".join(old), new), 0, most_tokens, least, count)


def test_lines_of_the_older_layer_and_new_messages_win_their_room_from_each_other() -> None:
    small_talk = [user("Well, that is another way to look at it.") for _ in range(20)]
    old, new = layers([BOOKING], small_talk, count(BOOKING) + 12)
    assert old == BOOKING
    assert count(new) <= 12
    telling = [user(f"Booking ZX-44{number} of {number} May for Anna Berg costs $31{number}.") for number in range(9)]
    old, new = layers([IDLE], telling, 60)
    assert old == ""
    assert new.count("Booking") >= 2


def test_each_layer_has_room_for_which_the_other_does_not_compete() -> None:
    telling = [user(f"Booking ZX-44{number} of {number} May for Anna Berg costs $31{number}.") for number in range(9)]
    old, new = layers([IDLE], telling, 60, (count(IDLE) + 1, 20))
    assert old == IDLE
    assert "Booking" in new
    lines = [f"user: Booking ZX-44{number} of {number} May for Anna Berg costs $31{number}." for number in range(9)]
    old, new = layers(lines, [user("Well, that is one way to look at it.")], 60, (20, 20))
    assert new
    assert count(old) <= 40


def test_messages_of_a_layer_that_closes_belong_to_the_older_one() -> None:
    said = [user("My booking ZX-4417 is of 4 May."), user("Anna Berg lives in 12 Elm Street.")]
    old, new = extract_layers(SummarySource.of(BOOKING, said), 1, 200, (0, 0), count)
    assert old == f"{BOOKING}\nuser: My booking ZX-4417 is of 4 May."
    assert new == "user: Anna Berg lives in 12 Elm Street."


def test_an_answer_counts_as_one_in_later_versions_too_where_its_question_stands_before_it() -> None:
    asked, answer, other = (
        "Ann: Which one?",
        "Ben: the blue one with a wooden handle",
        "Ben: the red box with a brass lid",
    )
    filling = [Passage("Ann", f"room {number}, key {number + 7}") for number in range(100, 103)]
    source = SummarySource("\n".join([asked, answer, other]), tuple(filling))
    lines = [asked, answer, *(f"Ann: {one.text}" for one in filling)]
    assert extract(source, count("\n".join(lines)) + 1, count).splitlines() == lines


def test_a_line_of_a_user_counts_as_much_as_the_message_that_it_was() -> None:
    """Where the answers of a model are long, what users write counts twice, in new messages and in old lines alike."""
    answers = [assistant(f"Of course: room {number} of floor 3 costs $20{number}. " * 20) for number in range(4)]
    wishes = [user(f"I want room {number} of floor 3 for $20{number}.") for number in range(4)]
    lines = [f"user: I want room {number} of floor 3 for $20{number}." for number in range(4, 8)]
    wanted = [*lines, *(f"user: {one.text}" for one in wishes)]
    said = [f"assistant: for Anna Berg rooms 9{number} and 8{number}" for number in range(4)]
    old, new = layers([*lines, *said], [*answers, *wishes], count("\n".join(wanted)) + 2)
    assert [*old.splitlines(), *new.splitlines()] == wanted


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(1, 120), st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_two_layers_fit_their_room(lines: list[str], most_tokens: int, first: int, second: int) -> None:
    least = min(first, most_tokens // 2), min(second, most_tokens // 2)
    old, new = layers([*lines, BOOKING], talk(8), most_tokens, least)
    assert count(old) + count(new) <= most_tokens
    assert count(old) <= most_tokens - least[1]
