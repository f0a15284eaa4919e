"""The wheel, installed outside this checkout."""

import shutil
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
    """The wheel, built from tracked files only, so that no untracked file hides a gap."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():  # a link stays one
            shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(target.glob("*.whl"))


@pytest.mark.stack
def test_sql_templates_and_type_marks_are_inside_and_tests_are_not(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "purser/py.typed" in names
    for package in PACKAGES:
        missing = {
            f"purser/{file.relative_to(ROOT)}"
            for pattern in ("*.py", "*.sql", "*.json", "*.html", "*.css", "*.js")
            for file in (ROOT / package).rglob(pattern)
        } - set(names)
        assert {name for name in missing if _is_tracked(name.removeprefix("purser/"))} == set()
    shared = (ROOT / "client" / "purser_client" / "wire").glob("*.py")
    assert {f"purser/wire/{file.name}" for file in shared} <= set(names)
    assert "purser/gateway/docs/quickstart.md" in names


@pytest.mark.stack
def test_its_only_import_name_is_purser(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"purser"}


@pytest.mark.proof
def test_it_imports_and_runs_in_an_environment_that_knows_no_checkout(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    # The requirements are those of the running environment: their files, without the editable install of this checkout.
    path = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (Path(path) / "requirements.pth").write_text(_requirements(tmp_path / "requirements"))
    imports = "; ".join(f"import purser.{package}" for package in PACKAGES)
    script = (
        f"{imports}; from purser.compose.migrate import head; assert '{ROOT}' not in purser.__file__; print(head())"
    )
    for name in PACKAGES:  # a project of Temporal has `workflows.py` and `activities.py` beside what it runs
        (tmp_path / f"{name}.py").write_text("raise ImportError('of the project itself')")
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
    from purser.compose.migrate import head

    return head()
