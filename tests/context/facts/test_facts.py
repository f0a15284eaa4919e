"""Facts: extracted word for word, superseded by later values, rendered within a token limit."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from purser.context.conversation.messages import Message, StoredMessage
from purser.context.conversation.storable import storable
from purser.context.facts import Fact, Kind, changed_facts, extract_facts, merged_facts, omitted_facts, render_facts
from purser.context.tokens import count_text
from purser.wire.storable import is_storable
from tests.support.context.conversations import assistant, calling, result, talk, user

SAID = (
    "My budget is $300.",
    "My budget is $500.",
    "The budget is now $450.",
    "The flight is at 9:40 am. The dinner is at 7 pm.",
    "Make it 11 am.",
    "I like tea.",
    "I hate tea.",
    "We met Anna at 12 Main Street.",
    "It's 21, not 12 Main Street.",
    "We decided to use Postgres.",
    "MySQL instead.",
    "Two tickets, please.",
    "Make it three.",
    "Forget the budget.",
    "Cancel that.",
)


def count(text: str) -> int:
    """Tokens of a text."""
    return count_text(text, "gpt-4o").tokens


def stored(*messages: Message) -> list[StoredMessage]:
    """A thread of these messages, numbered from 1."""
    return [StoredMessage(seq, "", message, {}) for seq, message in enumerate(messages, 1)]


def facts_of(*messages: Message) -> list[Fact]:
    """The facts of these messages."""
    return extract_facts(stored(*messages))


def values(kind: Kind, *texts: str) -> list[str]:
    """Values of one kind in texts of a user."""
    return [fact.value for fact in facts_of(*map(user, texts)) if fact.kind is kind]


# --- found -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.MONEY, "It costs $1,299.50 with tax.", "$1,299.50"),
        (Kind.MONEY, "We paid 300 euros for it.", "300 euros"),
        (Kind.MONEY, "预算是3000元左右。", "3000元"),
        (Kind.DATE, "The show is on 2027-03-05 at the hall.", "2027-03-05"),
        (Kind.DATE, "We fly on March 5th, 2027.", "March 5th, 2027"),
        (Kind.DATE, "I saw her last week.", "last week"),
        (Kind.DATE, "I moved here four years ago.", "four years ago"),
        (Kind.DATE, "我们5月20日出发。", "5月20日"),
        (Kind.DATE, "昨日、友達に会いました。", "昨日"),
        (Kind.DATE, "어제 친구를 만났어요.", "어제"),
        (Kind.ID, "My reservation is M05KNL.", "M05KNL"),
        (Kind.ID, "My user ID is mia_li_3668.", "mia_li_3668"),
        (Kind.ID, "电话是010-67389898。", "010-67389898"),
        (Kind.ID, "My postcode is BA2 4RB.", "BA2 4RB"),
        (Kind.ID, "收据号是SZ-5520817。", "SZ-5520817"),
        (Kind.ID, "予約番号は変わらずHK-20417です。", "HK-20417"),
        (Kind.ID, "订单号AB12345已发货。", "AB12345"),
        (Kind.ID, "订单#1234已发货。", "#1234"),
        (Kind.ID, "请查订单88213的状态", "88213"),
        (Kind.ID, "订单88213什么时候到？", "88213"),
        (Kind.ID, "我电话换成13987654321了。", "13987654321"),
        (Kind.ID, "注文番号は882134です。", "882134"),
        (Kind.ID, "주문번호는 882134입니다.", "882134"),
        (Kind.NUMBER, "参加的有50000人。", "50000人"),
        (Kind.NUMBER, "Take 2.5 mg of it.", "2.5 mg"),
        (Kind.NUMBER, "We have three kids.", "three kids"),
        (Kind.NUMBER, "我今年35岁。", "35岁"),
        (Kind.NAME, "We met Frank Herbert there.", "Frank Herbert"),
        (Kind.NAME, "Maria Lopez called me.", "Maria Lopez"),
        (Kind.NAME, "Yesterday Anna called me.", "Anna"),
        (Kind.NAME, "Oui, la Casio Graph 35.", "Casio Graph 35"),
        (Kind.NAME, "I am reading《三体》.", "《三体》"),
        (Kind.NAME, "我叫王小明。", "王小明"),
        (Kind.PATH, "The log is in /var/log/app/error.log, look there.", "/var/log/app/error.log"),
        (Kind.PATH, "See https://example.com/a/b?c=1.", "https://example.com/a/b?c=1"),
        (Kind.PATH, "Change src/main.py first.", "src/main.py"),
        (Kind.PREFERENCE, "Well, I prefer window seats.", "I prefer window seats"),
        (Kind.PREFERENCE, "I'm allergic to peanuts, sadly.", "I'm allergic to peanuts"),
        (Kind.PREFERENCE, "I hate early flights because I sleep badly.", "I hate early flights"),
        (Kind.PREFERENCE, "I am a vegetarian.", "I am a vegetarian"),
        (Kind.PREFERENCE, "我不吃辣。", "我不吃辣"),
        (Kind.PREFERENCE, "我对花生过敏。", "我对花生过敏"),
        (Kind.PREFERENCE, "私は寿司が好きです。", "私は寿司が好き"),
        (Kind.PREFERENCE, "저는 커피를 좋아해요.", "커피를 좋아해요"),
        (Kind.NEGATION, "Never call me before nine.", "Never call me before nine"),
        (Kind.NEGATION, "Please do not touch the table users.", "Please do not touch the table users"),
        (Kind.NEGATION, "Basic tickets cannot be changed.", "cannot be changed"),
        (Kind.NEGATION, "不要删除旧文件。", "不要删除旧文件"),
        (Kind.DECISION, "We decided to keep Postgres.", "We decided to keep Postgres"),
        (Kind.DECISION, "我们决定用旧的方案。", "我们决定用旧的方案"),
    ],
)
def test_values_are_found_word_for_word(kind: Kind, text: str, value: str) -> None:
    assert value in values(kind, text)


@pytest.mark.parametrize(
    "text",
    [
        "Hello! How are you? That sounds great, thanks a lot.",
        "Thanks, Anna!",
        "Wow, that is so cool, Ben!",
        "Don't worry about it, and never give up!",
        "I like that. I love how you put it.",
        "Have you been to Paris last week?",
        "One of them is for you.",
        "不要担心，别客气。",
        "I think I can do it. OK, I will.",
        "Release 3.8.1. is done.",
        "Die Version 12.11.2. ist da.",
        "So 18 May?",
        "这篇文章有10000字。",
        "15000歩歩きました。",
        "10000가지 방법",
    ],
)
def test_small_talk_has_no_facts(text: str) -> None:
    assert facts_of(user(text)) == []


def test_subject_and_relation_are_found_where_the_text_names_them() -> None:
    facts = facts_of(
        user("My user ID is mia_li_3668."),
        assistant("Your budget is now $500."),
        user("Anna's flight is HAT136."),
        user("我的预算是3000元。"),
    )
    assert [(fact.subject, fact.relation, fact.value) for fact in facts] == [
        ("user", "user id", "mia_li_3668"),
        ("user", "budget", "$500"),
        ("anna", "flight", "HAT136"),
        ("user", "预算", "3000元"),
    ]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("I'm allergic to peanuts.", "anna"),
        ("My daughter isn't allergic to peanuts.", "anna's daughter"),
        ("Our little boy is severely allergic to cats.", "anna's little boy"),
        ("我女儿对花生过敏。", "anna's 女儿"),
        ("我的朋友也对花生过敏。", "anna's 朋友"),
        ("我对花生过敏。", "anna"),
        ("Meine Frau ist nicht allergisch gegen Milch.", "anna's frau"),
        ("Unsere Tochter ist auch gegen Nüsse allergisch.", "anna's tochter"),
        ("Petra is allergic to nuts.", "petra"),
        ("Ben's son has an egg allergy.", "ben's son"),
        ("We are allergic to nuts.", "anna"),
        ("Petra ist allergisch gegen Nüsse.", "petra"),
        ("Wir haben eine Nussallergie.", "anna"),
        ("Mi hija es alérgica a las nueces.", "anna's hija"),
        ("Pedro tiene alergia al marisco.", "pedro"),
        ("Ma fille est allergique aux noix.", "anna's fille"),
        ("Paul n'est pas allergique aux noix.", "paul"),
        ("我舅舅对花生过敏，非常严重。", "anna's 舅舅"),
        ("小明对花生过敏。", "小明"),
        ("あと、妻がそばアレルギーなので、お昼はうどんで。", "anna's 妻"),
        ("それと息子が卵アレルギーです。", "anna's 息子"),
        ("私の母は卵アレルギーです。", "anna's 母"),
        ("私は卵アレルギーです。", "anna"),
        ("제 동생은 우유 알레르기가 있어요.", "anna's 동생"),
        ("저는 우유 알레르기가 있어요.", "anna"),
    ],
)
def test_an_allergy_is_one_of_the_person_who_has_it(text: str, subject: str) -> None:
    found = [fact.subject for fact in facts_of(Message("user", text, name="anna")) if fact.kind is Kind.PREFERENCE]
    assert found == [subject]


def test_a_fact_knows_its_message_its_sentence_and_who_said_it() -> None:
    [fact] = facts_of(assistant("hello"), Message("user", "Hi. We leave on 2027-03-05.", name="anna"))
    assert (fact.seq, fact.text, fact.speaker) == (2, "We leave on 2027-03-05.", "anna")


def test_fields_of_a_tools_object_are_facts_of_what_it_is() -> None:
    flights = '[{"flight_number": "HAT136", "price": 152}]'
    body = f'{{"reservation_id": "M05KNL", "cabin": "economy", "flights": {flights}, "notes": null}}'
    facts = facts_of(calling("c1"), result("c1", body))
    assert [(fact.kind, fact.subject, fact.relation, fact.value) for fact in facts] == [
        (Kind.FIELD, "M05KNL", "cabin", "economy"),
        (Kind.ID, "M05KNL", "flights.0.flight_number", "HAT136"),
        (Kind.FIELD, "M05KNL", "flights.0.price", "152"),
    ]


@pytest.mark.parametrize("odd", [r"\ud83d", r"\u0000"])
def test_fields_of_tools_and_texts_are_facts_that_postgres_can_store(odd: str) -> None:
    body = f'{{"order_id": "#W1", "color": "blue {odd}", "in {odd}": 2}}'
    said = json.loads(f'"My code is A{odd}B-77123, it costs $30."')
    found = facts_of(calling("c1"), result("c1", body), user(said))
    known = [(fact.subject, fact.relation, fact.value) for fact in found]
    assert {("#W1", "color", "blue \ufffd"), ("#W1", "in \ufffd", "2")} < set(known)
    assert is_storable([asdict(fact) for fact in found])


def test_a_result_replaces_none_of_another_call() -> None:
    orders = [f'{{"order": "A-100{number}", "days_late": {late}}}' for number, late in ((1, 4), (2, 0), (1, 5))]
    found = facts_of(*(one for body in orders for one in (calling("c1"), result("c1", body))))
    live = [(fact.subject, fact.relation, fact.value) for fact in found if fact.superseded_by is None]
    assert live == [("A-1002", "days_late", "0"), ("A-1001", "days_late", "5")]
    weather = [one for degrees in (20, 5, 5) for one in (calling("c1"), result("c1", f'{{"degrees": {degrees}}}'))]
    unnamed = facts_of(*weather)
    assert [(fact.value, fact.superseded_by) for fact in unnamed] == [("20", None), ("5", None)]
    assert render_facts(unnamed, 100, count).text == "2 degrees: 20\n4 degrees: 5"


def test_listings_and_raw_output_of_tools_are_no_facts() -> None:
    listing = "[" + ",".join(f'{{"flight_id": "HAT{number}"}}' for number in range(100, 130)) + "]"
    assert facts_of(calling("c1"), result("c1", listing)) == []
    assert [
        fact.value for fact in facts_of(calling("c1"), result("c1", "12 lines 2027-01-01 in ./src/app.py 0.5 ms"))
    ] == ["./src/app.py"]


def test_of_a_document_only_what_it_states_or_names_is_a_fact() -> None:
    pasted = "In 1999 the old mill of Mr Wells had 12 wheels, which cost $40 then. " * 40
    assert facts_of(user(pasted)) == []
    stated = facts_of(user(f"{pasted}\nMy budget is $500. Never touch ./data/old.csv please."))
    assert {fact.value for fact in stated} == {"$500", "./data/old.csv", "Never touch"}


def test_system_messages_have_no_facts_and_speakers_names_are_no_facts() -> None:
    anna, ben = (
        Message("user", "I told Ben and Carla yesterday.", name="Anna"),
        Message("assistant", "It is $5.", name="Ben"),
    )
    assert {fact.value for fact in facts_of(Message("system", "It is 2027-03-05."), ben, anna)} == {
        "$5",
        "Carla",
        "yesterday",
    }


def test_only_redacted_text_is_looked_at() -> None:
    facts = extract_facts(
        stored(user("My card is 4111111111111111.")), lambda text: text.replace("4" + "1" * 15, "[CARD_1]")
    )
    assert facts == []


@settings(deadline=None, max_examples=60)
@given(text=st.text(max_size=200))
def test_every_value_occurs_in_its_sentence(text: str) -> None:
    for fact in facts_of(user(text)):
        assert fact.value in fact.text
        assert fact.text.split() == [word for word in fact.text.split() if word in storable(text)]


# --- followed ---


@settings(deadline=None, max_examples=60)
@given(texts=st.lists(st.sampled_from(SAID), max_size=12), parts=st.lists(st.integers(1, 4), min_size=12, max_size=12))
def test_following_a_thread_in_any_steps_gives_the_facts_of_all_messages_at_once(
    texts: list[str], parts: list[int]
) -> None:
    messages = stored(*map(user, texts))
    known: list[Fact] = []
    rest = messages
    for size in parts:
        live = [fact for fact in known if fact.superseded_by is None]
        known = merged_facts(known, changed_facts(sorted(live, key=repr), rest[:size]))
        rest = rest[size:]
    assert sorted(known, key=repr) == sorted(extract_facts(messages), key=repr)


# --- superseded ------------------------------------------------------------------------------------------------------


def test_a_later_value_supersedes_an_earlier_one_of_the_same_subject_and_relation() -> None:
    old, new, other = facts_of(
        user("My budget is $300."), user("My budget is now $500."), Message("user", "My budget is $900.", name="anna")
    )
    assert (old.superseded_by, new.superseded_by, other.superseded_by) == (2, None, None)


def test_a_change_of_mind_supersedes_a_preference() -> None:
    old, new = facts_of(user("I like spicy food."), user("I hate spicy food."))
    assert (old.superseded_by, new.superseded_by) == (2, None)


def test_a_value_that_comes_back_holds_again() -> None:
    facts = facts_of(user("The limit is $300."), user("The limit is $500."), user("The limit is $300."))
    assert [fact.superseded_by for fact in facts] == [2, 3, None]


def test_what_is_only_mentioned_supersedes_nothing() -> None:
    facts = facts_of(user("We paid $300 for the tent."), user("We paid $500 for the boat."))
    assert [fact.superseded_by for fact in facts] == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        "I am not sure if I prefer the blue sofa.",
        "Ich weiß nicht, ob ich lieber das blaue Sofa mag.",
        "No sé si prefiero el sofá azul.",
        "我不知道是否喜欢蓝色的沙发。",
        "你喜欢蓝色的沙发吗",
        "青いソファが好きですか。",
    ],
)
def test_what_is_left_open_or_asked_is_no_preference(text: str) -> None:
    assert values(Kind.PREFERENCE, text) == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("酒店的价格是300元吗", "酒店的价格是300元。"),
        ("ホテルの値段は3000円ですか。", "ホテルの値段は3000円です。"),
        ("Is the price of the hotel $300?", "The price of the hotel is $300."),
    ],
)
def test_a_question_names_no_owner_of_its_value(asked: str, said: str) -> None:
    owned = [[fact.relation for fact in facts_of(user(text)) if fact.kind is Kind.MONEY] for text in (asked, said)]
    assert owned[0] in ([], ["mentions"])
    assert owned[1] == ["is"]


@pytest.mark.parametrize(
    "text", ["I don't want it to slip through.", "Don't stress about it.", "I picked up a parcel."]
)
def test_idioms_are_no_refusals_and_no_decisions(text: str) -> None:
    assert facts_of(user(text)) == []


def test_a_page_that_an_agent_pastes_yields_facts_of_its_sentences_only() -> None:
    page = "Lampenhaus\n- Zip Code\n- First Name\nNew from Corner Lamps\nOpen on Friday\nLamps\nThe lamp costs $30."
    assert [fact.value for fact in facts_of(assistant(page))] == ["$30"]
    assert "Friday" in [fact.value for fact in facts_of(user(page))]


def test_steps_of_an_agent_yield_no_facts() -> None:
    said = "I clicked 'Corner Lamps' on the page of Rome Lamps."
    assert facts_of(assistant(said)) == []
    assert facts_of(user(said)) != []


# --- shown -----------------------------------------------------------------------------------------------------------


def test_a_sheet_shows_each_sentence_once_in_sequence_with_its_message_and_speaker() -> None:
    sheet = render_facts(facts_of(user("We pay $300 for three rooms."), user("I prefer tea.")), 600, count)
    assert sheet.text == "1 user: We pay $300 for three rooms.\n2 user: I prefer tea."
    assert len(sheet.shown) == 3
    assert sheet.overflow == ()


def test_a_sheet_does_not_show_an_agent_as_the_user_whose_name_it_has() -> None:
    sheet = render_facts(facts_of(Message("assistant", "I prefer tea.", name="user")), 600, count)
    assert sheet.text == "1 assistant (user): I prefer tea."


def test_superseded_facts_are_left_out_of_the_sheet() -> None:
    sheet = render_facts(facts_of(user("My budget is $300 for two rooms."), user("My budget is $500.")), 600, count)
    assert "$300" not in sheet.text
    assert "two rooms" in sheet.text
    assert "$500" in sheet.text
    assert not [fact for fact in (*sheet.shown, *sheet.overflow) if fact.superseded_by]


def test_what_does_not_fit_is_listed() -> None:
    facts = facts_of(*talk(200))
    sheet = render_facts(facts, 600, count)
    assert 500 < count(sheet.text) <= 600
    assert sheet.overflow
    assert sorted((*sheet.shown, *sheet.overflow), key=repr) == sorted(facts, key=repr)


def test_rules_and_preferences_go_before_what_was_mentioned_in_passing() -> None:
    said = [user("We then walked along the old Harbour Road."), user("Never book a hotel without a lift.")]
    sheet = render_facts(facts_of(*said), 15, count)
    assert sheet.text == "2 user: Never book a hotel without a lift."


def test_facts_that_a_summary_states_are_left_out_of_the_sheet() -> None:
    facts = facts_of(user("We pay $300."), user("I prefer tea."))
    assert [fact.value for fact in omitted_facts(facts, "user: We pay $300.\nassistant: Fine.")] == ["I prefer tea"]


def test_fields_of_a_result_that_a_record_shows_are_left_out_of_the_sheet() -> None:
    facts = facts_of(
        calling("c1"), result("c1", json.dumps({"order_id": "W77120", "state": "sent", "carrier": "Nordpost"}))
    )
    record = "tool: get_order(order: W77120) → state: sent\ntool: track() → carrier: Nordpost"
    assert [fact.value for fact in omitted_facts(facts, record)] == ["Nordpost"]


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(st.text(alphabet="I like $5.20 Mai,\n", max_size=80), max_size=10), most=st.integers(0, 80))
def test_a_sheet_never_exceeds_its_bound_and_loses_nothing(texts: list[str], most: int) -> None:
    facts = facts_of(*map(user, texts))
    sheet = render_facts(facts, most, count)
    assert count(sheet.text) <= most
    held = [fact for fact in facts if fact.superseded_by is None]
    assert sorted((*sheet.shown, *sheet.overflow), key=repr) == sorted(held, key=repr)
    assert all(one.seq <= next_one.seq for one, next_one in pairwise(sheet.shown))


# --- dated -----------------------------------------------------------------------------------------------------------

SAID_ON = datetime(2027, 3, 5, 9, tzinfo=UTC)
"""A Friday."""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I saw Ann yesterday.", "yesterday (2027-03-04)"),
        ("我昨天见了王医生。", "昨天 (2027-03-04)"),
        ("Vi a Ana ayer.", "ayer (2027-03-04)"),
        ("Ich habe Anna gestern gesehen.", "gestern (2027-03-04)"),
        ("Je pars demain.", "demain (2027-03-06)"),
        ("The show is on May 20th.", "May 20th"),
    ],
)
def test_a_relative_date_has_its_absolute_one_in_value_and_sheet(text: str, value: str) -> None:
    [fact] = [fact for fact in extract_facts([StoredMessage(1, "", user(text), {}, SAID_ON)]) if fact.kind is Kind.DATE]
    assert (fact.value, fact.text) == (value, text)
    said = value.split(" (")[0]
    assert render_facts([fact], 600, count).text == f"1 user: {text}".replace(said, value)


def test_the_same_word_on_another_day_is_another_date() -> None:
    messages = [StoredMessage(day, "", user("The demo is tomorrow."), {}, SAID_ON.replace(day=day)) for day in (5, 6)]
    assert [(fact.value, fact.superseded_by) for fact in extract_facts(messages)] == [
        ("tomorrow (2027-03-06)", 6),
        ("tomorrow (2027-03-07)", None),
    ]


def test_a_correction_without_subject_reaches_back_40_messages() -> None:
    first, again = user("The dinner is at 7 pm."), user("Make it 8 pm.")
    for between, superseded in ((39, 41), (40, None)):
        facts = facts_of(first, *[user("Fine.")] * between, again)
        assert facts[0].superseded_by == superseded
