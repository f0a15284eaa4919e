"""Renders `operations/limits.md`: every limit with its value and the setting that changes it."""

import inspect
from collections.abc import Iterable

from purser.activities.calls.settlements import MAX_TOOL_CALLS
from purser.activities.tasks.file import MAX_AGENTS, MAX_DEPENDENCIES, MAX_TOOLS
from purser.activities.tools import MAX_RESULT
from purser.budget.postgres.connections.pools import ACQUIRE_S, IDLE_S
from purser.compose.http.connections import (
    LINGER_S,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_SMALL_CHUNKS,
    MIN_BODY_BYTES_PER_S,
    MIN_CHUNK_BYTES,
    OTHER_FILES,
    WRITE_STALL_S,
)
from purser.compose.settings.limits import Limits
from purser.context.conversation.preferences import MOST_CHARACTERS, MOST_FIELDS, MOST_NAME
from purser.context.tokens.pieces import UNBROKEN
from purser.gateway.dashboard.serving.open_pages import MAX_UNFOLLOWED
from purser.gateway.events.feed import BUFFER
from purser.gateway.events.stream import HEARTBEAT_S, SEND_TIMEOUT_S
from purser.gateway.health import CACHED_S
from purser.gateway.http.bodies import MAX_BODY, MAX_DEPTH, MAX_FORM, MAX_LARGE_BODY, MAX_VALUES
from purser.gateway.http.limits import SESSION_READ_WAIT_S
from purser.gateway.sessions.schemas import MAX_MESSAGES, MAX_QUESTION
from purser.gateway.webhooks.delivery import MAX_CONCURRENT, MAX_PER_TENANT
from purser.gateway.webhooks.targets import MAX_URL
from purser.wire.limits import (
    MAX_AMOUNT,
    MAX_BATCH,
    MAX_CALL_NANO_USD,
    MAX_CALL_TOKENS,
    MAX_KEY,
    MAX_LEASE_MS,
    MAX_NOTE,
    MAX_PATH,
    MAX_POLICIES,
    MAX_TICKET_URL,
)

HEAD = """# Limits

{generated}

A request that exceeds a limit gets an error that names it; stored data is never lost. A limit without a setting is
fixed. Spending limits are budgets: see [Budgets](../how-to/budgets.md).

`purser doctor` shows the limit of open files and the number of connections that it allows.
"""

FIXED: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = (
    (
        "Connections and requests",
        (
            ("Bytes of the URL and all headers of a request", MAX_HEADER_BYTES),
            ("Headers of a request", MAX_HEADERS),
            ("Bytes a second at which a body must arrive once `body_timeout_s` is over", MIN_BODY_BYTES_PER_S),
            ("Requests that wait on one connection; if more come, it is closed after their answers", MAX_PIPELINED),
            ("Chunks of a body that may be small", MAX_SMALL_CHUNKS),
            ("Bytes that the other chunks of a body must have on average", MIN_CHUNK_BYTES),
            ("Seconds after the answer in which the body of its request must end", LINGER_S),
            ("Seconds for which a request waits for its turn to read a session", SESSION_READ_WAIT_S),
            ("Seconds after which a client that reads nothing of its response is disconnected", WRITE_STALL_S),
            ("Open files that are reserved for databases, Temporal and logs", OTHER_FILES),
            ("Seconds for which an answer of `/readyz` is reused", CACHED_S),
            ("Seconds for which a request waits for a connection to Postgres; also for its key to be read", ACQUIRE_S),
            ("Seconds after which Postgres ends a transaction whose process says nothing", IDLE_S),
        ),
    ),
    (
        "Bodies",
        (
            ("Bytes of the body of a request", MAX_BODY),
            ("Bytes of a body with a task, messages, policies or a call of a model", MAX_LARGE_BODY),
            ("Bytes of a sign-in", MAX_FORM),
            ("Nesting depth of lists and objects", MAX_DEPTH),
            ("Values of a large body", MAX_VALUES),
            ("Messages of one append", MAX_MESSAGES),
            ("Policies and templates of one file", MAX_POLICIES),
            ("Agents of a task", MAX_AGENTS),
            ("Tools of an agent", MAX_TOOLS),
            ("Characters of all ids in the `depends_on` of a task", MAX_DEPENDENCIES),
            ("Tool calls of a model's reply; further ones are neither stored nor run", MAX_TOOL_CALLS),
            ("Characters of a tool's result; a message that says so replaces a longer one", MAX_RESULT),
            ("Characters of a memory query", MAX_QUESTION),
            ("Fields of personal settings", MOST_FIELDS),
            ("Characters of the name of such a field", MOST_NAME),
            ("Characters of personal settings", MOST_CHARACTERS),
            ("Characters of an approval's note", MAX_NOTE),
            ("Characters of an approval's ticket URL", MAX_TICKET_URL),
            ("Characters of a webhook's URL", MAX_URL),
            ("Characters of a text without spaces or digits whose tokens are counted at once", UNBROKEN),
        ),
    ),
    (
        "Streams",
        (
            ("Events that wait in memory for one stream; later ones are read from the table", BUFFER),
            ("Seconds between two heartbeats", HEARTBEAT_S),
            ("Seconds after which a stream whose client reads nothing is closed", SEND_TIMEOUT_S),
            ("Open pages of a browser session that no browser follows", MAX_UNFOLLOWED),
        ),
    ),
    (
        "Webhooks",
        (
            ("Webhooks to which one gateway sends at the same time", MAX_CONCURRENT),
            ("Of these, webhooks of one tenant", MAX_PER_TENANT),
        ),
    ),
    (
        "Holds",
        (
            ("Scopes of a path in addition to tenant and user", MAX_PATH),
            ("Holds of one `POST /v1/holds/batch`", MAX_BATCH),
            ("Characters of a hold's key", MAX_KEY),
            ("Milliseconds of a lease", MAX_LEASE_MS),
            ("Tokens of one call", MAX_CALL_TOKENS),
            ("Nano-dollars of one call", MAX_CALL_NANO_USD),
            ("Any amount, and any limit of a budget", MAX_AMOUNT),
        ),
    ),
)
"""Limits that no setting changes."""


def limits(generated: str) -> str:
    """Render the whole page."""
    parts = [HEAD.format(generated=generated), "## With a setting\n", "| setting | default | meaning |"]
    parts += ["| --- | --- | --- |", *map(_setting, inspect.get_annotations(Limits))]
    for title, rows in FIXED:
        parts += [f"\n## {title}\n", *_fixed(rows)]
    return "\n".join(parts) + "\n"


def _setting(name: str) -> str:
    field = Limits.model_fields[name]
    default = "none" if field.default is None else f"{field.default:,}"
    return f"| `{name}` | {default} | {' '.join((field.description or '').split())} |"


def _fixed(rows: Iterable[tuple[str, float]]) -> list[str]:
    return [
        "| limit | value | setting |",
        "| --- | --- | --- |",
        *(f"| {name} | {value:,} | fixed |" for name, value in rows),
    ]
