"""What stands in docker-compose.yml and in the Dockerfile, for tests that have no container engine."""

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
COMPOSE = ROOT / "compose" / "deploy"
DOCKERFILE = ROOT / "Dockerfile"
SECRETS = "/run/secrets/"


def services() -> dict[str, dict[str, Any]]:
    """Every service by name, with what it takes over from others filled in."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((COMPOSE / "docker-compose.yml").read_text())["services"]
    return found


def compose_file() -> dict[str, Any]:
    """The whole file."""
    found: dict[str, Any] = yaml.safe_load((COMPOSE / "docker-compose.yml").read_text())
    return found


def own() -> dict[str, dict[str, Any]]:
    """The services that run Purser itself."""
    return {name: service for name, service in services().items() if service["image"].startswith("purser:")}


def seconds(text: str) -> int:
    """`60s` or `5m`."""
    number, unit = re.fullmatch(r"(\d+)([sm])", text).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60}[unit]


def instructions() -> list[tuple[str, str]]:
    """Those of the Dockerfile: name and arguments, on one line each."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def sent_to_the_engine() -> list[str]:
    """Top-level names that .dockerignore lets into a build, and what it takes out of them again."""
    return [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]


def words(command: str | list[str]) -> list[str]:
    """A command line as its process sees it."""
    return shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
