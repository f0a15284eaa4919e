"""docker-compose.yml and the Dockerfile, as far as they can be checked without a container engine."""

import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from purser.compose.settings import Settings
from purser.compose.settings.load import CONFIG_FILE, IN_FILE, secrets
from tests.support.servers.deployment import (
    COMPOSE,
    DOCKERFILE,
    ROOT,
    SECRETS,
    compose_file,
    instructions,
    own,
    seconds,
    sent_to_the_engine,
    services,
)

ONCE = ("migrate", "temporal-schema", "temporal-namespace")
"""Services that run once and exit."""
SCRIPTS = sorted((COMPOSE / "docker").glob("*.sh"))


def test_docker_compose_accepts_the_file() -> None:
    found = shutil.which("docker-compose")
    if found is None:
        pytest.skip("no docker-compose: apt-get install docker-compose")
    # Debian ships Compose 1, which does not support the name of a project.
    text = (COMPOSE / "docker-compose.yml").read_text().replace("\nname: purser\n", "\n", 1)
    command = [found, "--project-directory", str(COMPOSE), "-f", "-", "config", "-q"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_hadolint_has_nothing_to_say() -> None:
    command = [str(Path(sys.executable).with_name("hadolint")), str(DOCKERFILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_file_that_is_mounted_exists() -> None:
    mounts = [mount.split(":")[0] for service in services().values() for mount in service.get("volumes", ())]
    files = [COMPOSE / mount for mount in mounts if mount.startswith(".")]
    assert files
    assert [str(file) for file in files if not file.exists()] == []
    assert {mount for mount in mounts if not mount.startswith(".")} == set(compose_file()["volumes"])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_are_shell(script: Path) -> None:
    subprocess.run(["sh", "-n", str(script)], check=True)


def test_the_secrets_that_are_made_are_those_that_are_used(tmp_path: Path) -> None:
    script = tmp_path / "docker" / "secrets.sh"
    script.parent.mkdir()
    shutil.copy(COMPOSE / "docker" / "secrets.sh", script)
    subprocess.run(["sh", str(script)], check=True, capture_output=True)
    made = {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()}
    subprocess.run(["sh", str(script)], check=True, capture_output=True)
    assert {file.name: file.read_text() for file in (tmp_path / "secrets").iterdir()} == made, "made once"

    named = {name: place["file"] for name, place in compose_file()["secrets"].items()}
    assert named == {name: f"./secrets/{name}" for name in made}
    assert len({made[name] for name in made if name.endswith(("password", "token"))}) == 5
    assert made["purser_password"].strip() in made["purser_dsn"]
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert set(named) == {name for service in services().values() for name in service.get("secrets", ())}


def test_a_service_is_given_the_secrets_that_it_reads() -> None:
    for name, service in services().items():
        text = " ".join(map(str, (service.get("environment"), service.get("entrypoint"), service.get("command"))))
        read = set(re.findall(rf"{SECRETS}(\w+)", text))
        assert read <= set(service.get("secrets", ())), name


def test_no_secret_is_in_the_file() -> None:
    for service in services().values():
        for variable, value in service.get("environment", {}).items():
            secret = any(word in variable.upper() for word in ("PASSWORD", "TOKEN", "KEY", "DSN", "PWD"))
            assert not secret or str(value).startswith(SECRETS), variable


def test_every_variable_of_ours_is_a_setting() -> None:
    known = {f"PURSER_{name.upper()}" for name in Settings.model_fields} | {CONFIG_FILE}
    known |= {f"PURSER_{name.upper()}{IN_FILE}" for name in secrets()}
    named = {variable for service in own().values() for variable in service["environment"]}
    assert named <= known
    assert re.findall(r"\$\{PURSER_\w+", (COMPOSE / "docker-compose.yml").read_text()) == []


def test_images_are_pinned() -> None:
    for name, service in services().items():
        tag = service["image"].partition(":")[2]
        assert re.search(r"\d+\.\d+", tag), f"{name}: {tag!r}"
        assert "latest" not in tag
    bases = [rest.split()[0] for instruction, rest in instructions() if instruction == "FROM"]
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", bases[0])


def test_the_project_has_its_own_name() -> None:
    assert compose_file()["name"] == "purser"


def test_what_runbooks_use_is_published_and_on_loopback_alone() -> None:
    published = {name: service["ports"] for name, service in services().items() if "ports" in service}
    assert set(published) == {"gateway", "grafana", "prometheus", "alertmanager"}
    assert all("out" in services()[name]["networks"] for name in published), "an internal network publishes nothing"
    runbooks = (ROOT / "docs/operations/runbooks.md").read_text()
    for address in set(re.findall(r"127\.0\.0\.1:\d+", runbooks)):
        assert any(port.startswith(f"{address}:") for ports in published.values() for port in ports), address
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert compose_file()["networks"]["back"] == {"internal": True}


@pytest.mark.parametrize("name", services())
def test_a_service_is_confined(name: str) -> None:
    service = services()[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] or name == "temporal-ui"
    # The images of Temporal set their own user.
    assert service.get("user", "0").split(":")[0] != "0" or service["image"].startswith("temporalio/")
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}
    assert service["restart"] == ("on-failure" if name in ONCE else "unless-stopped")
    assert name in (*ONCE, "temporal-ui") or service["healthcheck"]["test"][0] == "CMD"


def test_containers_are_given_longer_to_stop_than_their_processes_take() -> None:
    for name in ("worker", "gateway"):
        service = own()[name]
        given = {variable.removeprefix("PURSER_").lower(): value for variable, value in service["environment"].items()}
        settings = Settings(shutdown_grace_s=given["shutdown_grace_s"], drain_s=given.get("drain_s", 0))
        assert seconds(service["stop_grace_period"]) > settings.shutdown_grace_s + settings.drain_s + 5


def test_nothing_starts_before_the_schema_and_the_namespace_are_there() -> None:
    for name in ("worker", "gateway"):
        awaited = {other: how["condition"] for other, how in own()[name]["depends_on"].items()}
        assert awaited == dict.fromkeys(("migrate", "temporal-namespace"), "service_completed_successfully")
    assert own()["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"


def test_the_image_holds_nothing_that_is_not_pinned() -> None:
    installs = [
        part for name, rest in instructions() if name == "RUN" for part in rest.split("&&") if " install " in part
    ]
    assert len(installs) == 3
    assert all("--require-hashes" in part or "--no-index" in part for part in installs)
    assert "apt" not in DOCKERFILE.read_text()


def test_the_image_runs_as_its_own_user_and_has_a_health_check() -> None:
    last = dict(instructions())
    assert last["USER"] == "10001:10001" == own()["gateway"]["user"]
    assert last["ENTRYPOINT"] == '["purser"]'
    assert re.search(r"CMD (\[.*\])$", last["HEALTHCHECK"])
    assert "org.opencontainers.image.revision" in last["LABEL"]


def test_the_engine_is_sent_what_the_build_needs_and_no_secret() -> None:
    assert sent_to_the_engine()[0] == "*"
    assert "compose/deploy/secrets" in sent_to_the_engine()
    let_in = {line.removeprefix("!") for line in sent_to_the_engine() if line.startswith("!")}
    packages = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"tests", "docs"}
    shared = "client/purser_client/wire"
    assert let_in == packages | {shared, "docs", "pyproject.toml", "README.md", "LICENSE", "requirements/*.txt"}
