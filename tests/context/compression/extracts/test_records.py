"""Records of tool calls in an extract."""

import json
from typing import Any

import pytest

from purser.context.compression.extracts.extraction import extract
from purser.context.compression.extracts.records import Record, is_change, records
from purser.context.compression.requests import SummarySource
from purser.context.conversation.messages import Message
from purser.context.tokens import count_text
from tests.support.context.conversations import assistant, result, user

CUSTOMER = {
    "name": {"first_name": "Omar", "last_name": "Davis"},
    "address": {"street": "281 Spruce Street", "zip": "92164"},
    "payment_methods": {
        "gift_card_3481935": {"source": "gift_card", "amount": 22, "id": "gift_card_3481935"},
        "credit_card_2929732": {"source": "credit_card", "brand": "visa", "id": "credit_card_2929732"},
    },
    "reservations": ["JG7FMM", "LQ940Q"],
}


def count(text: str) -> int:
    """Tokens of a text."""
    return count_text(text, "gpt-4o").tokens


def calls(identifier: str, name: str, **arguments: Any) -> Message:
    """An assistant that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return Message("assistant", None, tool_calls=({"id": identifier, "type": "function", "function": function},))


def told(*messages: Message) -> list[Record]:
    """Records of a conversation."""
    return list(records(SummarySource.of("", messages).passages))


def test_a_record_is_the_call_with_its_whole_outcome_where_it_fits() -> None:
    [record] = told(calls("c1", "get_user", user_id="omar_1"), result("c1", json.dumps(CUSTOMER)))
    text = record.text(1_000)
    assert text.startswith("get_user(user_id: omar_1) → name: Omar, Davis / address: 281 Spruce Street, 92164")
    assert "payment_methods gift_card_3481935: gift_card, amount 22 / " in text
    assert text.endswith("reservations: JG7FMM, LQ940Q")


def test_without_room_amounts_and_what_is_referred_to_later_come_first_and_the_rest_is_counted() -> None:
    history = [
        calls("c1", "get_user", user_id="omar_1"),
        result("c1", json.dumps(CUSTOMER)),
        user("Take LQ940Q."),
    ]
    [record] = told(*history)
    text = record.text(120)
    assert "reservations: JG7FMM, LQ940Q" in text
    assert "amount 22" in text
    assert "Spruce" not in text
    assert text.endswith("… 3 more")


def test_an_outcome_never_gives_way_to_long_arguments() -> None:
    rows = [{"flight": f"HAT{number}", "date": "2024-05-21"} for number in range(100, 140)]
    [record] = told(
        calls("c1", "book", flights=rows, payment_id="gift_card_1"), result("c1", "Error: balance is too low")
    )
    text = record.text(240)
    assert text.endswith("→ Error: balance is too low")
    assert len(text) <= 260


def test_what_an_update_changes_comes_before_what_is_already_known() -> None:
    before = {"reservation_id": "JG7FMM", "cabin": "business", "insurance": "yes", "bags": 3, "gate": "north"}
    read, update = told(
        calls("c1", "get_reservation", reservation_id="JG7FMM"),
        result("c1", json.dumps(before)),
        calls("c2", "update_reservation", reservation_id="JG7FMM", cabin="economy"),
        result("c2", json.dumps(before | {"cabin": "economy", "gate": "south"})),
    )
    assert "gate: north" in read.text(500)
    short = update.text(len("update_reservation(reservation_id: JG7FMM, cabin: economy) → ") + 14)
    assert short.endswith("→ gate: south / … 2 more")


def test_a_repeated_call_is_shown_once_with_its_last_outcome_unless_it_changes_something() -> None:
    history = [
        calls("c1", "get_price", flight="HAT1"), result("c1", "140"),
        calls("c2", "add_bag", flight="HAT1"), result("c2", "1 bag"),
        calls("c3", "add_bag", flight="HAT1"), result("c3", "2 bags"),
        calls("c4", "get_price", flight="HAT1"), result("c4", "150"),
    ]  # fmt: skip
    assert [record.text(200) for record in told(*history)] == [
        "add_bag(flight: HAT1) → 1 bag",
        "add_bag(flight: HAT1) → 2 bags",
        "get_price(flight: HAT1) → 150",
    ]


def test_an_extract_has_no_call_without_its_result_no_half_value_and_no_raw_json() -> None:
    history: list[Message] = []
    for number in range(12):
        flights = [{"number": f"HAT{number}{row}", "price": 100 + row, "status": "available"} for row in range(20)]
        history += [
            user(f"Find me a flight to harbour {number}, please."),
            calls(f"c{number}", "search", to=f"harbour {number}"),
            result(f"c{number}", json.dumps(flights)),
            assistant(f"The best flight to harbour {number} is HAT{number}7 for 107."),
        ]
    history.append(calls("open", "search", to="nowhere"))
    lines = extract(SummarySource.of("", history), 600, count).splitlines()
    recorded = [line for line in lines if line.startswith("tool: ")]
    assert recorded
    for line in recorded:
        call, _, outcome = line.partition(" → ")
        assert call.startswith("tool: search(to: harbour ")
        assert outcome.split(" / ")[0].startswith("HAT"), "a row of the result"
        assert all(row.endswith("available") or row.startswith("… ") for row in outcome.split(" / "))
    assert not any("nowhere" in line or "{" in line or '"' in line for line in lines)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("refund", True),
        ("order_create", True),
        ("cancelOrder", True),
        ("shop.update-order", True),
        ("get_order", False),
        ("shop.get_order", False),
        ("getOrder", False),
        ("list_posts", False),
        ("address", False),
    ],
)
def test_the_first_verb_of_a_tools_name_says_whether_it_changes_something(name: str, changes: bool) -> None:
    assert is_change(name) is changes


def test_a_call_about_what_the_request_or_a_later_change_names_goes_before_others() -> None:
    history = [user("Refund order A-1009 if it was late.")]
    for number in range(1000, 1020):
        answer = {"status": "delivered", "days_late": number % 7, "total": number / 10}
        history += [calls(f"c{number}", "get_order", order=f"A-{number}"), result(f"c{number}", json.dumps(answer))]
    history += [calls("c1", "refund", order="A-1009", payment="P-5005"), result("c1", "ok")]
    history[-2:-2] = [calls("c2", "get_payment", payment="P-5005"), result("c2", "149.95")]
    named = [record.call.arguments for record in told(*history) if record.named]
    assert named == ['{"order": "A-1009"}', '{"payment": "P-5005"}', '{"order": "A-1009", "payment": "P-5005"}']
    lines = extract(SummarySource.of("", history), 130, count).splitlines()
    assert any(line.startswith("tool: get_order(order: A-1009)") for line in lines)


def test_of_a_list_only_the_entries_that_later_messages_refer_to_are_shown() -> None:
    flights = [{"flight": f"HAT{number}", "price": number, "date": "2024-05-21"} for number in range(100, 140)]
    [record] = told(
        calls("c1", "search", to="JFK"),
        result("c1", json.dumps({"status": "ok", "flights": flights})),
        user("HAT117, please. On 2024-05-21 I have time."),
    )
    text = record.text(1_000)
    assert text == "search(to: JFK) → status: ok / flights: HAT117, price 117, 2024-05-21 / … 39 more"


def test_a_row_that_a_later_message_names_is_found_in_any_script() -> None:
    sizes = "studio | churn | members\n--- | --- | ---\n" + "\n".join(
        f"{studio} | 0.{number} | {number}0" for number, studio in enumerate(("Bonn", "Essen", "Duisburg", "Kiel"), 11)
    )
    goods = [{"商品": f"{kind}空气净化器", "价格": 1000} for kind in ("凌云大风量", "清源静音型", "北辰旗舰款")]
    table, found = told(
        calls("c1", "query", by="studio"),
        result("c1", sizes),
        assistant("Duisburg is the worst."),
        calls("c2", "search", word="净化器"),
        result("c2", json.dumps(goods)),
        assistant("推荐清源静音型。"),
    )
    assert table.text(1_000) == "query(by: studio) → studio | churn | members / Duisburg | 0.13 | 130 / … 3 more"
    assert found.text(1_000) == "search(word: 净化器) → 清源静音型空气净化器, 价格 1000 / … 2 more"


def test_of_a_log_the_lines_that_tell_of_a_failure_are_shown() -> None:
    lines = [f"INFO request {number} took {number} ms" for number in range(40)]
    lines.insert(25, "ERROR upstream=payments certificate has expired")
    [record] = told(calls("c1", "logs", of="checkout"), result("c1", "\n".join(lines)))
    assert record.text(1_000) == "logs(of: checkout) → ERROR upstream=payments certificate has expired / … 40 more"


def test_a_long_object_is_shown_field_by_field_where_it_does_not_fit_whole() -> None:
    member = {"name": "Ada Moreno", "tier": "gold", "notes": "called twice " * 12, "balance": 140, "city": "Lisbon"}
    [record] = told(calls("c1", "member", id="M-1"), result("c1", json.dumps({"code": 0, "data": member})))
    assert record.text(60) == "member(id: M-1) → code: 0 / tier: gold / balance: 140 / … 3 more"


def test_a_call_whose_outcome_has_no_room_is_left_out() -> None:
    history = [calls("c1", "read", path="a"), result("c1", "word " * 30)]
    assert told(*history)[0].text(100) == ""
    assert "tool:" not in extract(SummarySource.of("", [user("Read a."), *history]), 30, count)


@pytest.mark.parametrize("name", ["cambiar_cita", "bestellung_stornieren", "annuler", "criarPedido"])
def test_tools_change_something_in_other_languages_too(name: str) -> None:
    assert is_change(name)
    assert not is_change("consultar_cambiar")
