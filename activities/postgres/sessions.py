"""Deletes the texts that tasks store of a session: their files, which repeat its input, and their replies."""

from purser.budget.postgres.connections.pools import Connection
from purser.budget.postgres.connections.queries import load
from purser.context.errors import SessionBusy

_SQL = load("purser.activities.postgres", "sessions.sql")


class SessionTasks:
    """The part of deleting a session that concerns its tasks."""

    async def forget_session(self, tenant: str, session_id: str, connection: Connection) -> None:
        """Removes the files and the replies of a session's tasks; their figures remain.

        Args:
            tenant, session_id: the session; its row is locked, so that no task begins in the meantime.
            connection: connection in the transaction of the deletion.

        Raises:
            SessionBusy: names a task that has not ended.
        """
        if running := await connection.fetchval(_SQL["running"], tenant, session_id):
            raise SessionBusy(
                f"task {running!r} of session {session_id!r} has not ended: cancel it or wait, then delete the session"
            )
        await connection.execute(_SQL["forget_tasks"], tenant, session_id)
        await connection.execute(_SQL["forget_replies"], tenant, session_id)
