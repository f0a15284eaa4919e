"""The task file: what is accepted, and with which errors everything else is refused."""

from typing import Any

import pytest

from purser.activities.errors import InvalidTask
from purser.activities.tasks.file import MAX_AGENTS, TaskFile
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import PolicyPatch
from purser.budget.scopes import Kind, Scope
from purser.budget.windows import Window

CANARY = "canary-c4f1"
ALLOWED = ("http://127.0.0.1:4010", "https://api.example.com/v1")


def agent(agent_id: str = "a", **more: Any) -> dict[str, Any]:
    return {"id": agent_id, "model": "gpt-4o-mini", "instructions": CANARY} | more


def task(*agents: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"session_id": "s", "task_id": "t", "input": CANARY, "agents": list(agents) or [agent()]} | more


def dense(length: int) -> list[dict[str, Any]]:
    """As many agents as a task may have; each depends on all before it. Their ids have this length."""
    ids = [str(number).zfill(length) for number in range(MAX_AGENTS)]
    return [agent(one, depends_on=ids[:number]) for number, one in enumerate(ids)]


def parse(obj: object) -> TaskFile:
    return TaskFile.parse(obj, ALLOWED)


def refused(obj: object) -> str:
    with pytest.raises(InvalidTask) as error:
        parse(obj)
    assert CANARY not in str(error.value), "a message repeats a text of the task"
    return str(error.value)


def test_faults_between_fields_are_named_all_at_once() -> None:
    tool = {"name": "look", "description": "", "parameters": {}}
    agents = [
        agent("a", depends_on=["nobody"], api_base="http://elsewhere"),
        agent("a", parent="none", tools=[tool, tool]),
        agent("c", depends_on=["a", "a"]),
    ]
    said = refused(task(*agents, use_case_preset="other"))
    for fault in (
        "$.use_case_preset is 'other'",
        "$.agents[0].api_base is 'http://elsewhere'",
        "$.agents[1].id is 'a' for the second time",
        "$.agents[1].tools[1].name is 'look' for the second time",
        "$.agents[0].depends_on names 'nobody'",
        "$.agents[1].parent names 'none'",
        "$.agents[2].depends_on names 'a' more than once",
    ):
        assert fault in said
    many = refused(task(*(agent("a") for _ in range(30)), use_case_preset="other"))
    assert (many.count("second time"), many.endswith("; and 10 more")) == (19, True)


def test_a_small_task_needs_only_ids_an_input_and_one_agent() -> None:
    assert parse(task()).agent("a").max_turns == 20


@pytest.mark.parametrize(
    ("obj", "place", "remedy"),
    [
        (None, "$", "object"),
        ([], "$", "object"),
        (task(input=""), "$.input", "at least 1 character"),
        (task(input=7), "$.input", "string"),
        (task(input=f"{CANARY}\0"), "$", "NUL"),
        (task(input=f"{CANARY}\ud800"), "$", "surrogate"),
        (task(task_id="a b"), "$.task_id", "'a b'"),
        (task(task_id="x" * 129), "$.task_id", "1 to 128"),
        (task(surprise=1), "$.surprise", "remove it"),
        (task(submitter="Ana Müller"), "$.submitter is 'Ana Müller'", "use no spaces and no control characters"),
        (task(agents=[]), "$.agents", "1 to 200"),
        (task({"id": "a", "instructions": CANARY}), "$.agents[0].model", "missing"),
        (task(agent(max_turns=0)), "$.agents[0].max_turns", "greater than or equal to 1"),
        (task(agent(max_turns=True)), "$.agents[0].max_turns", "integer"),
        (task(agent(max_output_tokens=-5)), "$.agents[0].max_output_tokens", "-5"),
        (task(agent(tools=[{"name": "a b"}])), "$.agents[0].tools[0].name", "use 1 to 64 of the characters A-Z"),
        (task(agent(tools=[{"name": "t"}])), "$.agents[0].tools[0].description", "missing"),
        (task(budget={"task": {"limit_tokens": 0}}), "$.budget.task.limit_tokens", "0"),
        (task(budget={"task": {"limit_tokens": "9"}}), "$.budget.task.limit_tokens", "integer"),
        (task(budget={"task": {"limit_usd": 0.5}}), "$.budget.task.limit_usd", "decimal string"),
        (task(budget={"task": {"limit_usd": "-1"}}), "$.budget.task.limit_usd", "decimal string"),
        (task(budget={"task": {"limit_usd": "0.0000000001"}}), "$.budget.task.limit_usd", "9 decimals"),
        (task(budget={"task": {"limit_usd": "0"}}), "$.budget.task.limit_usd", "above 0"),
        (task(budget={"task": {"mode": "lenient"}}), "$.budget.task.mode", "'soft', 'approval' or 'hard'"),
        (task(budget={"user": {}}), "$.budget.user", "remove it"),
        (task(budget={"task": {"timezone": "Mars/Base"}}), "$.budget.task.timezone", "IANA name"),
        (task(budget={"task": {"warn_at": [0.8, "much"]}}), "$.budget.task.warn_at", "at most six decimals"),
        (task(budget={"task": {"backpressure": [[0.9]]}}), "$.budget.task.backpressure", "give [ratio, delay_ms]"),
        (task(use_case_preset="poker"), "$.use_case_preset", "chat, debugging"),
        (task(context={"trigger_ratio": 0.3, "target_ratio": 0.4}), "$.context", "less than trigger_ratio 0.3"),
        (task(context={"documents": [{"kind": "note"}]}), "$.context.documents[0].text", "missing"),
    ],
)
def test_a_bad_field_is_named_with_its_place_and_the_remedy(obj: object, place: str, remedy: str) -> None:
    message = refused(obj)
    assert message.startswith(place)
    assert remedy in message


@pytest.mark.parametrize("text", [r"\u0000", r"a \\u0000", "\\" * 3 + "u0000"])
def test_text_that_only_looks_like_a_nul_is_text(text: str) -> None:
    assert parse(task(input=text)).input == text


@pytest.mark.parametrize("text", ["\0", "\\\0", "\0\\u0000"])
def test_a_nul_behind_backslashes_is_found(text: str) -> None:
    assert "NUL" in refused(task(input=text))


@pytest.mark.parametrize(
    ("agents", "expected"),
    [
        ([agent("a"), agent("a")], "second time"),
        ([agent("a", depends_on=["z"])], "'z'"),
        ([agent("a", depends_on=["a"])], "depends_on has the cycle a → a:"),
        ([agent("a", depends_on=["b"]), agent("b", depends_on=["a"]), agent("c")], "the cycle a → b → a:"),
        (
            [agent("a", depends_on=["y"]), agent("y", depends_on=["x"]), agent("x", depends_on=["y"])],
            "the cycle y → x → y:",
        ),
        (
            [agent(f"a{i}", depends_on=[f"a{(i + 1) % 10}"]) for i in range(10)],
            "the cycle a0 → a1 → a2 → a3 → a4 → a5 → … → a0:",
        ),
        ([agent("a"), agent("b", depends_on=["a", "a"])], "$.agents[1].depends_on names 'a' more than once"),
        (dense(51), "$.agents depends_on has 1,014,900 characters in all"),
        ([agent("a", parent="z")], "'z'"),
        ([agent("a", parent="b"), agent("b", parent="a")], "parent has the cycle a → b → a:"),
        ([agent(f"a{i}", **({"parent": f"a{i - 1}"} if i else {})) for i in range(15)], "nests too deep"),
        ([agent("a", tools=[{"name": "t", "description": "", "parameters": {}}] * 2)], "tools[1].name"),
    ],
)
def test_the_graph_of_agents_has_to_be_sound(agents: list[dict[str, Any]], expected: str) -> None:
    assert expected in refused(task(*agents))


@pytest.mark.parametrize("api_base", [ALLOWED[0], f"{ALLOWED[0]}/r/x/a/v1", ALLOWED[1], f"{ALLOWED[1]}/"])
def test_an_allowed_address_opens_what_lies_below_it(api_base: str) -> None:
    assert parse(task(agent(api_base=api_base))).agent("a").api_base == api_base


@pytest.mark.parametrize(
    "api_base",
    [
        "http://127.0.0.1:40101",
        "http://127.0.0.1",
        "https://127.0.0.1:4010",
        "http://127.0.0.1:4010@evil.example",
        "http://127.0.0.1:4010/../x",
        "http://127.0.0.1:4010/%2e%2e/x",
        "http://127.0.0.1:4010/..;/x",
        "http://127.0.0.1:4010/..\x1f/x",
        "http://127.0.0.1:4010/.. /x",
        "http://127.0.0.1:4010/\uff0e\uff0e/x",
        "http://127.0.0.1:4010/..\\x",
        "http://127.0.0.1:4010?x",
        "http://127.0.0.1:4010/#x",
        "https://api.example.com/v12",
        "https://api.example.com",
        "http://[::1",
        "",
    ],
)
def test_no_other_address_is_allowed(api_base: str) -> None:
    assert "$.agents[0].api_base" in refused(task(agent(api_base=api_base)))


def test_the_body_reads_back_as_it_was_submitted_and_its_digest_ignores_the_order_of_fields() -> None:
    body = task(agent(budget={"limit_usd": "0.000000005"}), budget={"task": {"limit_tokens": 9, "mode": "hard"}})
    parsed = parse(body)
    assert parsed.body() == body
    assert TaskFile.stored(parsed.body()) == parsed
    assert parse(dict(reversed(body.items()))).digest == parsed.digest
    assert parse(body | {"input": "other"}).digest != parsed.digest


def test_a_sub_agent_draws_on_its_parents_too() -> None:
    parsed = parse(task(agent("a"), agent("b", parent="a"), agent("c", parent="b")))
    assert parsed.path("c").texts() == ["session:s", "task:t", "agent:t/a", "agent:t/b", "agent:t/c"]


def test_a_task_may_have_many_dependencies() -> None:
    assert len(parse(task(*dense(50))).agents[-1].depends_on) == MAX_AGENTS - 1


@pytest.mark.parametrize(
    ("scope", "agents"),
    [("agent:t/a", 3), ("agent:t/b", 2), ("agent:t/c", 1), ("task:t", 4), ("session:s", 0), ("agent:other/a", 0)],
)
def test_the_agents_that_draw_on_a_scope_of_the_task_are_counted(scope: str, agents: int) -> None:
    parsed = parse(task(agent("a"), agent("b", parent="a"), agent("c", parent="b"), agent("d")))
    assert parsed.drawing_on(Scope.parse(scope)) == agents


def test_a_request_goes_before_its_preset_and_an_agents_own_budget_before_that_of_all() -> None:
    parsed = parse(
        task(
            agent("a", budget={"limit_tokens": 5, "window": "day"}),
            agent("b"),
            use_case_preset="governed",
            budget={"task": {"mode": "hard"}, "agent": {"limit_tokens": 7}},
            context={"token_budget_per_agent": 9},
        )
    )
    policies = {str(scope): (patch, sources) for scope, patch, sources in parsed.policies()}
    assert policies["session:s"][0].mode is Mode.APPROVAL
    assert policies["session:s"][1] == {"mode": "governed"}
    assert policies["task:t"][0].mode is Mode.HARD
    assert policies["task:t"][1] == {}
    own, others = policies["agent:t/a"][0], policies["agent:t/b"][0]
    assert (own.limit_tokens, own.window, own.mode) == (5, Window.DAY, Mode.APPROVAL)
    assert (others.limit_tokens, others.window) == (7, None)


def test_every_field_of_a_policy_but_freezing_and_approval_rules_may_be_asked_for() -> None:
    fields = {"window": "day", "timezone": "Europe/Berlin", "warn_at": [0.9, "0.5"], "backpressure": [[0.5, 10]]}
    read = parse(task(budget={"session": {"limit_usd": "1", "limit_tokens": 5, "mode": "hard", **fields}}))
    session, patch, _ = next(iter(read.policies()))
    assert session.kind is Kind.SESSION
    assert patch == PolicyPatch.parse({"limit_nano_usd": 10**9, "limit_tokens": 5, "mode": "hard", **fields})
    assert TaskFile.stored(read.body()) == read


@pytest.mark.parametrize(
    ("level", "field", "where"),
    [
        ("session", "last_answer", "set it for tasks and agents"),
        ("session", "learned_holds", "set it for agents"),
        ("task", "learned_holds", "set it for agents"),
    ],
)
def test_a_field_without_effect_on_a_level_is_refused_there_unless_the_file_is_stored(
    level: str, field: str, where: str
) -> None:
    file = task(budget={level: {field: 0.5}})
    assert f"$.budget.{level} is dict: {field} does not apply to a {level}: {where}" in refused(file)
    assert getattr(getattr(TaskFile.stored(file).budget, level), field) == 0.5


def test_the_per_agent_token_budget_of_the_context_is_the_agents_limit() -> None:
    (*_, (_, patch, _)) = parse(task(context={"token_budget_per_agent": 9}, use_case_preset="chat")).policies()
    assert patch.limit_tokens == 9
