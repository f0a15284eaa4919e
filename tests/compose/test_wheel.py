"""What is shipped: the wheel, away from this checkout."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("budget", "context", "activities", "workflows", "gateway", "compose", "benchmarks")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the files that git knows, so that nothing uncommitted hides a gap."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(target.glob("*.whl"))


def test_sql_templates_and_type_marks_are_inside_and_tests_are_not(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
        missing = {
            str(file.relative_to(ROOT))
            for pattern in ("*.py", "*.sql", "*.json", "*.html", "*.css", "*.js")
            for file in (ROOT / package).rglob(pattern)
        } - set(names)
        assert {name for name in missing if _is_tracked(name)} == set()
    assert not [name for name in names if name.startswith(("tests/", "docs/"))]


def test_it_imports_and_runs_in_an_environment_that_knows_no_checkout(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*install, str(wheel)], check=True)
    # The requirements are those of the running environment: their files, without the editable install of this checkout.
    path = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (Path(path) / "requirements.pth").write_text(_requirements(tmp_path / "requirements"))
    imports = "; ".join(f"import {package}" for package in PACKAGES)
    script = f"{imports}, compose.migrate; assert '{ROOT}' not in budget.__file__; print(compose.migrate.head())"
    done = subprocess.run([python, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == _head()
    purser = subprocess.run(
        [tmp_path / "env" / "bin" / "purser", "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "purser" in purser.stdout


def _requirements(folder: Path) -> str:
    folder.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "purser" not in entry.name and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    return f"{folder}\n"


def _is_tracked(name: str) -> bool:
    return bool(subprocess.run(["git", "ls-files", name], cwd=ROOT, capture_output=True, text=True).stdout)


def _head() -> str:
    from compose.migrate import head

    return head()
