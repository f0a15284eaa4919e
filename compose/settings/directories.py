"""Default data directory and state directory of this user."""

import os
from pathlib import Path


def default_data_dir() -> Path:
    """Data directory of `purser up`.

    As root, the embedded Postgres runs as another user and makes every parent directory readable, so the directory is
    never below a home directory. Nor is it for a user who has none, as in some containers: `up` checks who owns it.
    """
    below_home = _below_home("XDG_DATA_HOME", ".local/share")
    if os.geteuid() == 0 or below_home is None:
        return Path(f"/var/tmp/purser-{os.geteuid()}")
    return below_home


def state_dir() -> Path:
    """Directory in which commands record the data directory of the last `up`."""
    return _below_home("XDG_STATE_HOME", ".local/state") or default_data_dir() / "state"


def _below_home(variable: str, below_home: str) -> Path | None:
    """A directory of this user; `None` for a user without a home."""
    if stated := os.environ.get(variable):
        return Path(stated) / "purser"
    try:
        return Path.home() / below_home / "purser"
    except RuntimeError:
        return None
