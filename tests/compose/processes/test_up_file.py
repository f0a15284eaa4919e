"""Commands find the running system, and send its key to no other gateway."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from purser.compose.processes.up_file import FILE, LOCK, Running, command_settings, remember
from purser.compose.settings.directories import default_data_dir, state_dir
from purser.compose.stack.lock import FileLock


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """A system that runs on `tmp_path`."""
    for name in [name for name in os.environ if name.startswith("PURSER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = Running("http://127.0.0.1:1", "127.0.0.1:2", None, "postgresql:///x", "secret", os.getpid())
    found.write(tmp_path)
    with FileLock(tmp_path / LOCK):
        yield found


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


@pytest.mark.parametrize("content", [b"", b'{"gateway": "http://127.0', b"[]", b"null", b'{"pid": 1}', b"\xff"])
def test_a_file_that_was_cut_off_names_nothing_that_runs(tmp_path: Path, running: Running, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    assert Running.read(tmp_path) is None
    assert command_settings(tmp_path).url is None


def test_fields_of_a_later_release_are_ignored(tmp_path: Path, running: Running) -> None:
    file = tmp_path / FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"later": True}))
    assert Running.read(tmp_path) == running


def test_the_file_of_a_killed_up_whose_process_id_is_in_use_again_names_nothing_that_runs(tmp_path: Path) -> None:
    left = Running("http://127.0.0.1:1", "127.0.0.1:2", None, "postgresql:///x", "secret", os.getpid())
    left.write(tmp_path)
    (tmp_path / LOCK).touch()
    assert Running.read(tmp_path) is None


def test_the_last_one_is_the_default_of_commands(tmp_path: Path, running: Running) -> None:
    remember(tmp_path)
    assert command_settings().url == running.gateway


def test_an_up_goes_on_where_nothing_can_be_noted_and_says_how_commands_find_it(
    tmp_path: Path, running: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    remember(tmp_path)
    assert f"--data {tmp_path}" in caplog.text
    assert "Not a directory" in caplog.text


def test_a_user_without_a_home_directory_has_a_directory_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some containers run as a user that is in no list of users."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    unknown = 2**31 - 7
    monkeypatch.setattr(os, "getuid", lambda: unknown)
    monkeypatch.setattr(os, "geteuid", lambda: unknown)
    assert default_data_dir() == Path(f"/var/tmp/purser-{unknown}"), "whose owner `up` checks"
    assert state_dir().parent == default_data_dir()
