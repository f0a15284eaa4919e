"""Directories of this user."""

import os
from pathlib import Path


def default_data_dir() -> Path:
    """Where `purser up` keeps its data.

    As root the embedded Postgres runs as a user of its own and opens every parent directory, so never below a home.
    """
    if os.geteuid() == 0:
        return Path("/var/tmp/purser-0")
    return _home("XDG_DATA_HOME", ".local/share") / "purser"


def state_dir() -> Path:
    """Where commands remember the data directory of the last `up`."""
    return _home("XDG_STATE_HOME", ".local/state") / "purser"


def _home(variable: str, below_home: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / below_home)
