"""The wheel of the client, built offline and installed without the server."""

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client"
NEEDS = {
    *("httpx", "httpcore", "h11", "anyio", "sniffio", "certifi", "idna"),
    *("pydantic", "pydantic_core", "annotated_types", "typing_extensions.py", "typing_inspection"),
}
"""What the declared requirements bring into site-packages."""
SCRIPT = """
import sys
import purser_client, purser_client.types
from purser_client import AsyncPurser, BudgetBody, Purser
purser_client.Purser("http://127.0.0.1:9", "none").close()
foreign = {"purser", "litellm", "asyncpg", "fastapi", "temporalio", "tiktoken"} & set(sys.modules)
assert not foreign, foreign
print(purser_client.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from tracked files only."""
    source, target = tmp_path_factory.mktemp("client"), tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CLIENT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CLIENT / name, source / name)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target), str(source)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(target.glob("*.whl"))


@pytest.mark.stack
def test_it_contains_the_package_and_asks_for_httpx_and_pydantic_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        required = Parser().parsestr(packed.read(metadata).decode()).get_all("Requires-Dist") or []
    assert {name.split("/")[0] for name in names} == {"purser_client", metadata.split("/")[0]}
    assert {f"purser_client/{file.relative_to(CLIENT / 'purser_client')}" for file in _tracked()} <= set(names)
    plain = [one for one in required if "extra ==" not in one]
    assert sorted(re.split(r"[<>=]", one)[0] for one in plain) == ["httpx", "pydantic"]


@pytest.mark.proof
def test_it_is_imported_where_nothing_but_its_requirements_is_installed(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", str(wheel)], check=True)
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    assert {entry.name for entry in site.iterdir() if "purser" in entry.name} == {
        "purser_client",
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
    }
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if entry.name in NEEDS:
            (site / entry.name).symlink_to(entry)
    done = subprocess.run([python, "-I", "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(site) in done.stdout


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "purser_client"], cwd=CLIENT, capture_output=True, text=True)
    return [CLIENT / name for name in listed.stdout.split()]
