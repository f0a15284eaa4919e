"""Rules of the house itself: what checks catch, and what is pinned."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("budget", "context", "activities", "workflows", "gateway", "compose")


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy that may be broken."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("budget/scopes.py", "import context", "Floors"),
        ("context/__init__.py", "import gateway", "Floors"),
        ("activities/__init__.py", "import workflows.agent_task", "Activities know of workflows only the contract"),
        ("workflows/__init__.py", "import activities", "Workflows are deterministic"),
        ("workflows/__init__.py", "import asyncpg", "Workflows are deterministic"),
        ("workflows/contract.py", "import temporalio", "The contract of workflows and activities is light"),
        ("budget/scopes.py", "import temporalio", "Budget and context know neither Temporal nor HTTP"),
        ("budget/scopes.py", "import budget.postgres.ledger", "Rules of the budget know no store"),
        ("budget/scopes.py", "import asyncpg", "Only stores load a database driver"),
    ],
)
def test_an_import_against_the_floors_is_caught(house: Path, module: str, line: str, contract: str) -> None:
    with (house / module).open("a") as file:
        file.write(f"\n{line}\n")
    done = _run("lint-imports", "--no-cache", cwd=house)
    assert done.returncode == 1
    assert re.search(rf"{contract}[^\n]*\n?[^\n]*BROKEN", done.stdout), done.stdout


@pytest.mark.parametrize(
    "skip", ["pytest.skip('no chromium: apt-get install chromium')", "pytest.importorskip('nope')"]
)
@pytest.mark.parametrize("where", ["in a test", "in a module"])
@pytest.mark.parametrize("ci", ["true", ""])
def test_a_skip_is_counted_with_its_reason_and_fails_in_ci(tmp_path: Path, skip: str, where: str, ci: str) -> None:
    if where == "in a module":
        skip = skip.replace("')", "', allow_module_level=True)") if "skip(" in skip and "import" not in skip else skip
        text = f"import pytest\n{skip}\ndef test_it() -> None: ...\n"
    else:
        text = f"import pytest\ndef test_it() -> None:\n    {skip}\n"
    (tmp_path / "test_skipping.py").write_text(text)
    done = _pytest(tmp_path, CI=ci)
    assert done.returncode != 0 if ci else done.returncode in (0, 5), done.stdout
    assert ("skipped, which fails in CI" in done.stdout) == bool(ci)
    assert ("chromium" if "chromium" in skip else "nope") in done.stdout
    if not ci:
        assert "1 skipped" in done.stdout.splitlines()[-1]


def test_a_failing_test_prints_its_seed_and_the_seed_replays(tmp_path: Path) -> None:
    (tmp_path / "test_seed.py").write_text("def test_it(seed: int) -> None: assert seed == 0, f'<{seed}>'\n")
    first = _pytest(tmp_path)
    found = re.search(r"PURSER_TEST_SEED=(\d+)", first.stdout)
    assert found, first.stdout
    assert f"<{found[1]}>" in _pytest(tmp_path, PURSER_TEST_SEED=found[1]).stdout


@pytest.mark.parametrize("name", ["base.txt", "dev.txt"])
def test_requirements_are_pinned_with_hashes_and_without_addresses(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    entries = re.split(r"\n(?=[A-Za-z])", text)
    assert all(re.match(r"[\w.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"https?:|file:/|index-url|find-links|trusted-host| @ ", text)


def test_both_requirement_files_pin_the_same_versions() -> None:
    base, dev = (
        dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("base.txt", "dev.txt")
    )
    assert {name: dev.get(name) for name in base} == base


def _run(command: str, *arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name(command), *arguments],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "200"} | env,
        capture_output=True,
        text=True,
        check=False,
    )


def _pytest(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    plain = ("-p", "tests.conftest", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ".", "-rsf", "-q")
    return _run(
        "pytest",
        *plain,
        "test_skipping.py" if (folder / "test_skipping.py").exists() else ".",
        cwd=folder,
        **env | {"PYTHONPATH": str(ROOT)},
    )
