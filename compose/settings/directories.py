"""Default data directory and state directory of this user."""

import os
from pathlib import Path


def default_data_dir() -> Path:
    """Data directory of `purser up`.

    As root, the embedded Postgres runs as another user and makes every parent directory readable, so the directory is
    never below a home directory.
    """
    if os.geteuid() == 0:
        return Path("/var/tmp/purser-0")
    return _home("XDG_DATA_HOME", ".local/share") / "purser"


def state_dir() -> Path:
    """Directory in which commands record the data directory of the last `up`."""
    return _home("XDG_STATE_HOME", ".local/state") / "purser"


def _home(variable: str, below_home: str) -> Path:
    stated = os.environ.get(variable)
    return Path(stated) if stated else _own() / below_home


def _own() -> Path:
    """The home directory of this user, or a directory in its place: some containers run as a user that has none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(f"/var/tmp/purser-{os.geteuid()}")
