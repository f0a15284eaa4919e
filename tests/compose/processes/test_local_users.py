"""Other users of this machine: their files are not trusted, and they cannot access ours."""

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from purser.compose.cli.api.client import gateway
from purser.compose.errors import NoGateway, StackError
from purser.compose.processes.up import _sole_owner
from purser.compose.processes.up_file import FILE, LOCK, Running, command_settings, is_private
from purser.compose.stack.lock import FileLock
from purser.compose.stack.postgres import SOCKET, EmbeddedPostgres

NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user: run the tests as root")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on which a system runs, and no settings."""
    for name in [name for name in os.environ if name.startswith("PURSER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "data"
    made.mkdir(mode=0o700)
    Running("http://127.0.0.1:1", "127.0.0.1:2", None, "postgresql:///x", "secret", os.getpid()).write(made)
    with FileLock(made / LOCK):
        yield made


def test_addresses_of_our_own_file_are_trusted(data: Path) -> None:
    assert is_private(data)
    assert stat.S_IMODE((data / FILE).stat().st_mode) == 0o600
    assert command_settings(data).url == "http://127.0.0.1:1"


@pytest.mark.parametrize(("place", "mode"), [("", 0o770), ("", 0o707), (FILE, 0o620), (FILE, 0o602)])
def test_a_file_that_others_may_write_is_not_trusted(data: Path, place: str, mode: int) -> None:
    (data / place).chmod(mode)
    assert command_settings(data).url is None
    with pytest.raises(NoGateway, match="not trusted"), gateway(data):
        pass


def test_a_link_to_a_file_is_not_believed(data: Path) -> None:
    (data / FILE).rename(data / "elsewhere")
    (data / FILE).symlink_to(data / "elsewhere")
    assert command_settings(data).url is None


@as_root
@pytest.mark.parametrize("place", ["", FILE])
def test_a_file_of_another_user_is_not_trusted(data: Path, place: str) -> None:
    os.chown(data / place, NOBODY, -1)
    assert command_settings(data).url is None
    with pytest.raises(NoGateway, match="not trusted"), gateway(data):
        pass


def test_a_configured_key_goes_to_no_address_of_a_file(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURSER_API_KEY", "purser_real")
    assert command_settings(data).url is None
    with pytest.raises(NoGateway, match="PURSER_URL is not") as refused, gateway(data):
        pass
    assert "unset PURSER_API_KEY" in refused.value.remedy


@as_root
def test_a_data_directory_that_another_user_made_or_linked_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    for name in ("theirs", "link"):
        os.chown(tmp_path / name, NOBODY, -1, follow_symlinks=False)
        with pytest.raises(StackError, match="belongs to another user"), _sole_owner(tmp_path / name):
            pass


def test_a_data_directory_is_closed_to_writers_and_its_lock_to_all(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o777)
    with _sole_owner(data):
        assert stat.S_IMODE(data.stat().st_mode) == 0o755
        assert stat.S_IMODE((data / "up.lock").stat().st_mode) == 0o600


def test_a_lock_that_was_open_to_all_is_closed(tmp_path: Path) -> None:
    (tmp_path / "lock").touch(mode=0o644)
    with FileLock(tmp_path / "lock"):
        assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600


async def test_a_path_that_postgres_would_leave_for_an_open_directory_is_refused(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120)
    with pytest.raises(StackError, match="bytes too long") as refused:
        await EmbeddedPostgres(long).start()
    assert "--data" in refused.value.remedy
    assert not long.exists()


def test_the_socket_of_postgres_and_its_lock_are_closed_to_other_users(postgres_server: str) -> None:
    directory = Path(parse_qs(urlsplit(postgres_server).query)["host"][0])
    assert directory.name == "postgres", "in the directory of the data, nowhere else"
    assert stat.S_IMODE((directory / f"{SOCKET}").stat().st_mode) == 0o700
    assert stat.S_IMODE(directory.with_name("postgres.lock").stat().st_mode) == 0o600


@as_root
def test_another_user_does_not_reach_postgres(postgres_server: str) -> None:
    directory = Path(parse_qs(urlsplit(postgres_server).query)["host"][0])
    with tempfile.TemporaryDirectory(dir=directory.parent) as place:
        # Outside of the directory of the data, which is closed as well.
        socket = Path(place) / "socket"
        Path(place).chmod(0o755)
        os.link(directory / SOCKET, socket)
        connect = f"import os, socket; os.setuid({{}}); socket.socket(socket.AF_UNIX).connect({str(socket)!r})"
        for user, refused in ((NOBODY, True), (0, False)):
            done = subprocess.run([sys.executable, "-c", connect.format(user)], capture_output=True, text=True)
            assert ("PermissionError" in done.stderr, done.returncode == 0) == (refused, not refused), done.stderr
