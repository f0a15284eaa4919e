"""Discovery of a local `up`: the `up.json` of its data directory, and the data directory of the last `up`."""

import json
import logging
import os
import stat
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from pydantic import SecretStr

from purser.compose.settings import Settings, load_settings
from purser.compose.settings.directories import state_dir
from purser.compose.stack.lock import FileLock

FILE = "up.json"
LOCK = "up.lock"
"""Held by the `up` of a data directory, and by a command that opens its database while no `up` runs."""
log = logging.getLogger(__name__)
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Running:
    """Addresses and admin key of a running `up`."""

    gateway: str
    """Address of the HTTP API."""
    temporal: str
    """`host:port` of the Temporal frontend."""
    temporal_ui: str | None
    """Address of Temporal's Web UI; None if this `up` does not run it."""
    postgres: str
    """DSN of the database."""
    admin_key: str
    """Key of the HTTP API, valid until the next `up` on this data directory."""
    pid: int
    """Process id of `up`."""

    def write(self, data_dir: Path) -> None:
        """Write the file, readable by this user only: it holds a key."""
        temporary = data_dir / f"{FILE}.{self.pid}"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(asdict(self), file)
        temporary.replace(data_dir / FILE)

    @classmethod
    def read(cls, data_dir: Path) -> "Running | None":
        """The `up` that runs on `data_dir`; None if there is none, or if another user may have written the file."""
        if not is_private(data_dir):
            return None
        try:
            stored = json.loads((data_dir / FILE).read_text(encoding="utf-8"))
            running = cls(**{field.name: stored[field.name] for field in fields(cls)})
        except (FileNotFoundError, PermissionError, NotADirectoryError, ValueError, LookupError, TypeError):
            return None  # gone, cut off by a full disk, or of another release
        # A killed `up` leaves its file behind, and another process may have its id by now.
        return running if _runs(running.pid) and FileLock(data_dir / LOCK).is_held() else None


def is_private(data_dir: Path) -> bool:
    """Whether the `up.json` of a directory is trusted: this user owns both, and no other user may write them."""
    try:
        found = [data_dir.stat(), (data_dir / FILE).lstat()]
    except OSError:
        return False
    return all(one.st_uid == os.geteuid() and not one.st_mode & OTHERS_WRITE for one in found)


def _runs(pid: int) -> bool:
    """Whether there is a process of this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # that of another user
        pass
    return True


def forget(data_dir: Path) -> None:
    """Remove the file: nothing runs on `data_dir` any more."""
    (data_dir / FILE).unlink(missing_ok=True)


def remember(data_dir: Path) -> None:
    """Make `data_dir` the default of commands that look for a running system, if this user's home can be written."""
    try:
        state_dir().mkdir(parents=True, exist_ok=True)
        (state_dir() / "last-up").write_text(str(data_dir.resolve()))
    except OSError as error:
        why = f"{error.strerror}: {str(state_dir())!r}"
        log.warning("commands find this `up` only with --data %s, which could not be noted (%s)", data_dir, why)


def command_settings(data: Path | None = None, **overrides: object) -> Settings:
    """Settings of a command that works on a running system.

    Settings that are not configured come from the running `up` of `data`, by default of the last `up`. Its key is sent
    only to its own gateway, and a configured key only to a configured gateway.
    """
    settings = load_settings(data_dir=data, **overrides)
    last = state_dir() / "last-up"
    if settings.source("data_dir") == "default" and last.is_file():
        settings = settings.model_copy(update={"data_dir": Path(last.read_text())})
    running = Running.read(settings.data_dir)
    if running is None:
        return settings
    found: dict[str, str | SecretStr] = {
        "dsn": running.postgres,
        "temporal_address": running.temporal,
    }
    if settings.url == running.gateway or (settings.url is None and settings.api_key is None):
        found |= {"url": running.gateway, "api_key": SecretStr(running.admin_key)}
    return settings.model_copy(update={name: value for name, value in found.items() if getattr(settings, name) is None})
