"""Rules of the repository: imports between layers, skipped tests, seeds, pinned requirements, patterns."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("budget", "context", "activities", "workflows", "gateway", "compose", "benchmarks")


AGAINST_THE_LAYERS = [
    ("purser.budget.scopes", "purser.context", "Layers"),
    ("purser.context", "purser.gateway", "Layers"),
    ("purser.activities", "purser.workflows.agent_task", "Activities import only the contract of workflows"),
    ("purser.wire.base", "purser.budget", "Layers"),
    ("purser.wire.enums", "pydantic", "What rules share with the HTTP API is light"),
    ("purser.activities", "purser.wire.base", "Only the gateway knows the bodies and answers"),
    ("purser.workflows", "purser.activities", "Workflows are deterministic"),
    ("purser.workflows", "asyncpg", "Workflows are deterministic"),
    ("purser.workflows.contract", "temporalio", "The contract of workflows and activities is light"),
    ("purser.budget.scopes", "temporalio", "Budget and context import neither Temporal nor HTTP"),
    ("purser.budget.scopes", "purser.budget.postgres.ledger.ledger", "Rules of the budget import no store"),
    ("purser.budget.scopes", "asyncpg", "Only stores load a database driver"),
]
"""Modules, what none of them may import, and the contract that says so."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the code that a test may break."""
    shutil.copytree(ROOT / "purser", tmp_path / "purser", symlinks=True)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "docs"))
    shutil.copytree(ROOT / "client" / "purser_client" / "wire", tmp_path / "client" / "purser_client" / "wire")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.stack
def test_each_import_against_the_layers_is_caught(checkout: Path) -> None:
    for module, imported, _ in AGAINST_THE_LAYERS:
        place = checkout.joinpath(*module.split("."))
        with (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).open("a") as file:
            file.write(f"\nimport {imported}\n")
    done = _run("lint-imports", "--no-cache", cwd=checkout)
    assert done.returncode == 1
    for module, imported, contract in AGAINST_THE_LAYERS:
        [caught] = re.findall(rf"\n{contract}[^\n]*\n-+\n(.*?)(?=\n\n\n\S[^\n]*\n---|\Z)", done.stdout, re.DOTALL)
        assert re.search(rf"^- +{module} -> {imported} \(l\.\d+\)$", caught, re.MULTILINE), done.stdout


@pytest.mark.parametrize("ci", ["true", ""])
def test_a_skip_is_counted_with_its_reason_and_fails_in_ci(tmp_path: Path, ci: str) -> None:
    missing, module = "no chromium: apt-get install chromium", ", allow_module_level=True"
    for name, text in {
        "skipped_test": f"def test_it() -> None: pytest.skip({missing!r})",
        "skipped_module": f"pytest.skip({missing!r}{module})",
        "import_in_a_test": "def test_it() -> None: pytest.importorskip('nope')",
        "import_in_a_module": "pytest.importorskip('nope')",
    }.items():
        (tmp_path / f"test_{name}.py").write_text(f"import pytest\n{text}\n")
    output = _pytest(tmp_path, CI=ci).stdout
    assert all(output.count(reason) >= 2 for reason in (missing, "nope")), output
    assert ("2 failed, 2 errors" if ci else "4 skipped") in output.splitlines()[-1]
    assert ("skipped, which fails in CI" in output) == bool(ci)


def test_a_failing_test_prints_its_seed_and_the_seed_replays(tmp_path: Path) -> None:
    (tmp_path / "test_seed.py").write_text("def test_it(seed: int) -> None: assert seed == 0, f'<{seed}>'\n")
    first, other = (_pytest(tmp_path, PURSER_TEST_SEED="").stdout for _ in range(2))
    found = re.search(r"PURSER_TEST_SEED=(\d+)", first)
    assert found, first
    assert f"<{found[1]}>" in first
    assert f"<{found[1]}>" not in other
    assert f"<{found[1]}>" in _pytest(tmp_path, PURSER_TEST_SEED=found[1]).stdout


@pytest.mark.parametrize(("target", "files"), [("demo", ["base"]), ("up", ["base"]), ("test", ["base", "dev"])])
def test_what_runs_purser_installs_no_tools_and_nothing_chatters(tmp_path: Path, target: str, files: list[str]) -> None:
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(["make", "-n", target], cwd=tmp_path, capture_output=True, text=True, check=True)
    installs = [line.split(" || ") for line in done.stdout.splitlines() if " pip install " in line]
    for place in (0, -1):  # by uv, or else by pip
        named = [name for either in installs for name in re.findall(r"requirements/(base|dev)\.txt", either[place])]
        assert named == files
    assert all(" -q " in command for either in installs for command in either)


PINNED = [
    ROOT / "requirements" / "base.txt",
    ROOT / "requirements" / "dev.txt",
    *ROOT.glob("client/requirements/*.txt"),
]


@pytest.mark.parametrize("file", PINNED, ids=lambda file: str(file.relative_to(ROOT)))
def test_requirements_are_pinned_with_hashes_and_without_addresses(file: Path) -> None:
    text = file.read_text()
    entries = re.split(r"\n(?=[A-Za-z])", text)
    assert all(re.match(r"[\w.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"https?:|file:/|index-url|find-links|trusted-host| @ ", text)


def test_both_requirement_files_pin_the_same_versions() -> None:
    base, dev = (
        dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("base.txt", "dev.txt")
    )
    assert {name: dev.get(name) for name in base} == base


# Before Python 3.11.5, a possessive repetition of more than one item goes on behind its last match
# (python/cpython#100061 and #106052): it took the closing quote of a secret, or left the secret in the text.
POSSESSIVE_GROUP = re.compile(r"[)}](?:[*+?]|\{+[\d,]+\}+)\+")


@pytest.mark.parametrize("package", [*PACKAGES, "client"])
def test_groups_are_repeated_without_backtracking_only_as_atomic_groups(package: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if POSSESSIVE_GROUP.search(line) and r"\p{" not in line  # which only the package `regex` knows
    ]
    assert found == [], "write (?>(?:…)*) for (?:…)*+"


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
    plain = ("-p", "tests.support.runs.outcomes", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ".")
    alone = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return _run("pytest", *plain, "-rsf", "-q", "--continue-on-collection-errors", ".", cwd=folder, **env | alone)
