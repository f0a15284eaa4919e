"""What the health page of the dashboard shows of a deployment."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from temporalio.client import Client

from purser.budget.errors import LedgerUnavailable
from purser.budget.postgres.connections.pools import create_pool
from purser.compose.migrate import head
from purser.compose.processes.dashboard import setup, shown_settings
from purser.compose.settings import Settings
from purser.compose.stack.ports import LOOPBACK, free_port


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"dsn": "postgresql://ann:hush@db.example:5432/purser?sslpassword=hush"}, "postgresql://db.example:5432/purser"),
        ({"dsn": "postgresql://ann:hush@a:5432,b:5433/purser?target_session_attrs=read-write"}, "postgresql://a:5432,b:5433/purser"),
        ({"dsn": "postgresql://ann:hush@/purser?host=/run/postgresql"}, "postgresql://local socket/purser"),
        ({"metrics_token": SecretStr("hush")}, "set"),
        ({"api_key": None}, "not set"),
        ({"provider_keys": {"openai": SecretStr("hush")}}, "openai"),
        ({"redaction_patterns": {"EMPLOYEE": "E-[0-9]{6}"}}, "EMPLOYEE"),
        ({"allowed_api_bases": ("http://a.example", "http://b.example")}, "http://a.example, http://b.example"),
        ({"data_dir": Path("/srv/purser")}, "/srv/purser"),
    ],
)  # fmt: skip
def test_settings_are_shown_without_secrets(given: dict[str, Any], value: str) -> None:
    [name] = given
    shown = {one.name: one for one in shown_settings(Settings(**given).with_sources({name: "file"}))}
    assert (shown[name].value, shown[name].source) == (value, "file")
    assert not any("hush" in one.value for one in shown.values())
    assert shown["task_queue"].source == "default"


def test_every_setting_is_shown() -> None:
    assert [one.name for one in shown_settings(Settings())] == sorted(Settings.model_fields)


async def test_the_revision_is_read_while_postgres_accepts_no_further_connection(
    dsn: str, temporal_client: Client
) -> None:
    full = Settings(dsn=f"postgresql://nobody@{LOOPBACK}:{free_port()}/nothing")
    async with await create_pool(dsn, size=1) as pool:
        shown = setup(full, pool, temporal_client)
        assert await shown.revision() == shown.revision_needed == head()
    with pytest.raises(LedgerUnavailable):
        await shown.revision()
