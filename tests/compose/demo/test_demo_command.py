"""The command that the demo shows its user to type."""

import subprocess
import sys
from pathlib import Path

import pytest

from purser.compose.demo.command import purser

BIN = Path(sys.executable).parent


def test_where_the_shell_finds_it_by_name_the_name_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"/usr/bin:{BIN}")
    assert purser() == "purser"


def test_elsewhere_it_is_a_path_that_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for place, typed in ((BIN.parent.parent, f"{BIN.parent.name}/bin/purser"), (tmp_path, str(BIN / "purser"))):
        monkeypatch.chdir(place)
        assert purser() == typed
        assert subprocess.run(["sh", "-c", f"test -x {purser()}"], check=False).returncode == 0
