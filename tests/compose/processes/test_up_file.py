"""Commands find the running system, and send its key to no other gateway."""

import os
from pathlib import Path

import pytest

from purser.compose.processes.up_file import Running, command_settings


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    """A system that runs on `tmp_path`."""
    for name in [name for name in os.environ if name.startswith("PURSER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = Running("http://127.0.0.1:1", "127.0.0.1:2", None, "postgresql:///x", "secret", os.getpid())
    found.write(tmp_path)
    return found


def test_a_command_uses_the_gateway_and_the_key_of_the_running_system(tmp_path: Path, running: Running) -> None:
    settings = command_settings(tmp_path)
    assert settings.url == running.gateway
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == running.admin_key


def test_the_key_of_the_running_system_goes_to_no_other_gateway(
    tmp_path: Path, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PURSER_URL", "http://elsewhere.test")
    settings = command_settings(tmp_path)
    assert settings.url == "http://elsewhere.test"
    assert settings.api_key is None
