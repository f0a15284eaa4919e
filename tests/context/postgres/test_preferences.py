"""Personal settings on a real Postgres: versions, and precedence of session over user."""

import asyncio

import pytest

from purser.budget.postgres.connections.pools import Pool
from purser.context.conversation.preferences import MOST_CHARACTERS
from purser.context.errors import InvalidPreferences
from purser.context.postgres.conversation.conversations import Conversations
from purser.context.postgres.sessions.preferences import PersonalSettings
from tests.support.actors import ANA, BEN
from tests.support.context.conversations import user

TENANT, SESSION = "acme", "s1"


@pytest.fixture
async def settings(pool: Pool) -> PersonalSettings:
    """The store, with a session of the user u1."""
    await Conversations(pool).append(TENANT, SESSION, [user("a")], origin="o1", user_id="u1")
    return PersonalSettings(pool)


async def test_a_field_of_the_session_goes_before_that_of_its_user(settings: PersonalSettings) -> None:
    await settings.set_for_user(TENANT, "u1", {"language": "German", "tone": "brief", "units": "metric"}, by=ANA)
    await settings.set_for_session(TENANT, SESSION, {"tone": "kind", "units": ""}, by=BEN)
    personal = await settings.personal(TENANT, SESSION)
    assert personal.fields == {"language": "German", "tone": "kind"}
    assert personal.message is not None
    assert personal.message.role == "user"
    assert personal.message.text.splitlines()[1:] == ["- language: German", "- tone: kind"]


async def test_each_change_is_a_version_and_the_same_again_is_none(settings: PersonalSettings) -> None:
    first = await settings.set_for_user(TENANT, "u1", {"tone": "brief"}, by=ANA)
    assert (first.version, first.changed_by) == (1, "ana")
    assert await settings.set_for_user(TENANT, "u1", {"tone": "brief"}, by=BEN) == first
    second = await settings.set_for_user(TENANT, "u1", {}, by=BEN)
    assert (second.version, second.changed_by, second.fields) == (2, "ben", {})
    await settings.set_for_session(TENANT, SESSION, {"tone": "kind"}, by=BEN)
    assert (await settings.personal(TENANT, SESSION)).versions == (2, 1)


async def test_text_that_postgres_cannot_store_is_replaced(settings: PersonalSettings) -> None:
    await settings.set_for_user(TENANT, "u1", {"name": "An\0n"}, by=ANA)
    await settings.set_for_session(TENANT, SESSION, {"tone": "half \ud83d"}, by=ANA)
    assert (await settings.personal(TENANT, SESSION)).fields == {"name": "An\ufffdn", "tone": "half \ufffd"}


async def test_a_field_may_hold_any_json(settings: PersonalSettings) -> None:
    await settings.set_for_user(TENANT, "u1", {"diet": {"avoid": ["nuts"]}, "tone": "brief"}, by=ANA)
    await settings.set_for_session(TENANT, SESSION, {"tone": None}, by=ANA)
    message = (await settings.personal(TENANT, SESSION)).message
    assert message is not None
    assert message.text.splitlines()[1:] == ['- diet: {"avoid": ["nuts"]}']


async def test_nothing_set_is_no_message(settings: PersonalSettings) -> None:
    personal = await settings.personal(TENANT, SESSION)
    assert (personal.message, personal.versions) == (None, (0, 0))
    assert (await settings.personal(TENANT, "unknown")).message is None


async def test_other_users_sessions_and_tenants_have_their_own(settings: PersonalSettings, pool: Pool) -> None:
    conversations = Conversations(pool)
    await conversations.append(TENANT, "s2", [user("b")], origin="o1", user_id="u2")
    await conversations.append("other", SESSION, [user("c")], origin="o1", user_id="u1")
    await settings.set_for_user(TENANT, "u1", {"tone": "brief"}, by=ANA)
    await settings.set_for_session(TENANT, SESSION, {"units": "metric"}, by=ANA)
    assert (await settings.personal(TENANT, "s2")).fields == {}
    assert (await settings.personal("other", SESSION)).fields == {}
    assert (await settings.of_user("other", "u1")).version == 0


async def test_a_session_may_have_settings_before_its_first_message(settings: PersonalSettings, pool: Pool) -> None:
    await settings.set_for_session(TENANT, "new", {"tone": "kind"}, by=ANA)
    conversations = Conversations(pool)
    assert await conversations.append(TENANT, "new", [user("a")], origin="o1", user_id="u1") == [1]
    await settings.set_for_user(TENANT, "u1", {"units": "metric"}, by=ANA)
    assert (await settings.personal(TENANT, "new")).fields == {"tone": "kind", "units": "metric"}


async def test_changes_are_audited_by_version_and_number_of_fields(settings: PersonalSettings, pool: Pool) -> None:
    await settings.set_for_user(TENANT, "u1", {"tone": "brief", "diet": "no nuts"}, by=ANA)
    await settings.set_for_session(TENANT, SESSION, {"tone": "kind"}, by=BEN)
    changes = await pool.fetch("select by, action, target, before, after from changes order by change_id")
    nothing = {"version": 0, "fields": 0}
    after = {"version": 1, "fields": 2}
    assert [tuple(change) for change in changes] == [
        ("ana", "settings.set", "user:u1", nothing, after),
        ("ben", "settings.set", "session:s1", nothing, {"version": 1, "fields": 1}),
    ]
    stored = await pool.fetchval("select fields from user_settings where version = 1")
    assert stored == {"tone": "brief", "diet": "no nuts"}, "the previous value is stored in its version"


async def test_changes_at_once_are_numbered_on(settings: PersonalSettings) -> None:
    changes = [{"tone": str(number)} for number in range(10)]
    made = await asyncio.gather(*(settings.set_for_user(TENANT, "u1", fields, by=ANA) for fields in changes))
    assert sorted(one.version for one in made) == list(range(1, 11))


async def test_deleted_settings_of_a_user_are_in_no_version_and_their_numbers_go_on(
    settings: PersonalSettings, pool: Pool
) -> None:
    for fields in ({"phone": "+49 170"}, {"phone": "+49 171"}, {}):
        await settings.set_for_user(TENANT, "u1", fields, by=ANA)
    await settings.set_for_user(TENANT, "u2", {"tone": "kind"}, by=ANA)
    await settings.set_for_session(TENANT, SESSION, {"units": "metric"}, by=ANA)
    deleted = await settings.delete_for_user(TENANT, "u1", by=BEN)
    assert (deleted.fields, deleted.version, deleted.changed_by) == ({}, 4, "ben")
    assert await settings.delete_for_user(TENANT, "u1", by=ANA) == deleted
    rows = await pool.fetch("select version, fields, changed_by from user_settings where user_id = 'u1' order by 1")
    assert [tuple(row) for row in rows] == [(1, {}, "ana"), (2, {}, "ana"), (3, {}, "ana"), (4, {}, "ben")]
    assert (await settings.at(TENANT, SESSION, (2, 1))).fields == {"units": "metric"}
    assert (await settings.set_for_user(TENANT, "u1", {"tone": "brief"}, by=ANA)).version == 5
    assert (await settings.of_user(TENANT, "u2")).fields == {"tone": "kind"}
    changes = await pool.fetch("select by, target, before, after from changes where action = 'settings.delete'")
    before, after = {"version": 3, "fields": 0}, {"version": 4, "fields": 0}
    assert [tuple(change) for change in changes] == [("ben", "user:u1", before, after)]


async def test_a_user_without_settings_has_none_to_delete(settings: PersonalSettings, pool: Pool) -> None:
    assert (await settings.delete_for_user(TENANT, "u1", by=ANA)).version == 0
    assert await pool.fetchval("select count(*) from changes") == 0


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"": "x"}, "''"),
        ({"a\nb": "x"}, "a"),
        ({"n" * 65: "x"}, "nnn"),
        ({f"f{number}": "x" for number in range(51)}, "51"),
        ({"tone": "x" * MOST_CHARACTERS}, str(MOST_CHARACTERS)),
    ],
)
async def test_settings_that_every_window_would_suffer_from_are_refused(
    settings: PersonalSettings, pool: Pool, fields: dict[str, str], named: str
) -> None:
    with pytest.raises(InvalidPreferences, match=named):
        await settings.set_for_user(TENANT, "u1", fields, by=ANA)
    with pytest.raises(InvalidPreferences, match=named):
        await settings.set_for_session(TENANT, SESSION, fields, by=ANA)
    assert await pool.fetchval("select count(*) from user_settings") == 0
