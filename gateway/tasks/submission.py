"""What a submission takes from the settings of its session and user: a model for agents that name none.

Settings change. A file that is submitted again is therefore compared as it was filled in the first time.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeGuard

from purser.activities.errors import InvalidTask, TaskNotFound
from purser.activities.models.names import check_model_name
from purser.activities.tasks.file import TaskFile
from purser.budget.postgres.connections.pools import Connection, Pool, connected
from purser.context.conversation.preferences import Personal
from purser.context.errors import InvalidSettings
from purser.context.figures import Figures
from purser.gateway.http.bodies import run_off_loop
from purser.gateway.services import Services
from purser.wire.storable import is_storable


async def personal_of(use: Services, tenant: str, body: Mapping[str, Any]) -> Personal:
    """Settings of the session of a task file, and of its user, who may be named by the file first."""
    session_id, user_id = body.get("session_id"), body.get("user_id")
    if not _can_be_asked_for(session_id):
        return Personal()
    found = await use.sessions.settings.personal(tenant, session_id)
    if _can_be_asked_for(user_id) and not found.user.version:
        return Personal(await use.sessions.settings.of_user(tenant, user_id), found.session)
    return found


def _can_be_asked_for(identifier: object) -> TypeGuard[str]:
    # The file is not checked yet, and Postgres refuses a query that holds a NUL.
    return isinstance(identifier, str) and is_storable(identifier)


def with_models(body: Mapping[str, Any], use: Services, personal: Personal) -> dict[str, Any]:
    """The task file with the default model for agents that name none; unchanged if there is no such default.

    Raises:
        InvalidTask: the file names a default that is no model.
    """
    agents = body.get("agents")
    if not isinstance(agents, list):
        return dict(body)
    try:
        asked = Figures.of({"model": (body.get("context") or {}).get("model")}, "context").given
    except (InvalidSettings, AttributeError):
        asked = {}  # the check of the whole file reports it
    if (named := asked.get("model")) is not None:
        try:
            check_model_name(named)
        except ValueError as error:
            raise InvalidTask(f"$.context.model is {named[:140]!r}: {error}") from None
    model = personal.resolved(use.context, asked).settings.model
    if model is None:
        return dict(body)
    return _filled(body, [model] * len(agents))


async def submitted_before(body: Mapping[str, Any], use: Services, tenant: str, size: int) -> TaskFile | None:
    """The stored file of a task if the body, of `size` bytes, is the same; it is not checked against the settings."""
    task_id, agents = body.get("task_id"), body.get("agents")
    if not _can_be_asked_for(task_id) or not isinstance(agents, list):
        return None
    try:
        stored = await use.tasks.file(tenant, task_id)
    except TaskNotFound:
        return None
    if stored is None or len(agents) != len(stored.agents):
        return None
    filled = _filled(body, [agent.model for agent in stored.agents])
    addresses = [agent.api_base for agent in stored.agents if agent.api_base is not None]
    try:
        given = await run_off_loop(size, TaskFile.parse, filled, addresses)
    except InvalidTask:
        return None  # the check of a new file reports it
    return stored if given.digest == stored.digest else None


@asynccontextmanager
async def undone(pool: Pool) -> AsyncIterator[Connection]:
    """A connection in a transaction that is rolled back: what is checked in it is checked by the code that stores."""
    async with connected(pool, None) as own:
        transaction = own.transaction()
        await transaction.start()
        try:
            yield own
        finally:
            await transaction.rollback()


def _filled(body: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any]:
    """The task file with one of `models` for each agent that names none, in order."""
    pairs = zip(body["agents"], models, strict=True)
    return {
        **body,
        "agents": [{"model": model} | agent if isinstance(agent, dict) else agent for agent, model in pairs],
    }
