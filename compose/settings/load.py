"""Load settings from the command line, the environment and a file, with clear errors."""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, ValidationError
from pydantic_core import to_jsonable_python
from pydantic_settings import EnvSettingsSource
from pydantic_settings.exceptions import SettingsError as Unreadable

from purser.compose.errors import SettingsError
from purser.compose.settings.model import Settings

PREFIX = "PURSER_"
IN_FILE = "_FILE"
"""Suffix of the variable that names a file with the value of a secret, as container engines mount it."""
CONFIG_FILE = "PURSER_CONFIG_FILE"
DEFAULT_FILE = "purser.toml"
SERVICE = re.compile(r"PURSER_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)")
"""Variables that Kubernetes injects into every pod for a Service named `purser`; they are not settings."""
SERVICE_PORT = "PURSER_PORT"
"""The one of them that is always there, and whose value shows that Kubernetes set it: `tcp://10.0.0.7:8787`."""
SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://.+")
TEST_PREFIX = "PURSER_TEST_"
"""Prefix of variables of the test suite, which are not settings."""
REFERENCE = "docs/reference/settings.md lists all settings."


def load_settings(**overrides: object) -> Settings:
    """Merge `overrides` (None: not set) over the environment, over the file, over the defaults.

    The file is `$PURSER_CONFIG_FILE`, else `purser.toml` in the working directory if there is one.

    Raises:
        SettingsError: an unknown key or a bad value; the message names the setting and its source.
    """
    file = _config_file()
    secrets = _secret_files()
    layers = {
        "file": _from_file(file) if file else {},
        "environment": _from_environment(secrets),
        "command line": {name: value for name, value in overrides.items() if value is not None},
    }
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers.items():
        values |= layer
        origins |= dict.fromkeys(layer, origin)
        if origin == "environment":
            origins |= {name: _origin(path) for name, path in secrets.items()}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _explained(error, origins) from None
    return settings.with_sources(origins)


def aliases() -> Mapping[str, str]:
    """The field of every accepted name of a setting, including aliases."""
    names = {name: name for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        if isinstance(field.validation_alias, AliasChoices):
            names |= {str(alias): name for alias in field.validation_alias.choices}
    return names


def secrets() -> tuple[str, ...]:
    """Names of secret settings: they are never shown, and a file may hold their value."""
    fields = Settings.model_fields
    return tuple(name for name, field in fields.items() if not field.repr or "SecretStr" in str(field.annotation))


def _config_file() -> Path | None:
    named = os.environ.get(CONFIG_FILE)
    if named and not Path(named).is_file():
        raise SettingsError(f"{CONFIG_FILE}: there is no file {named!r}", remedy="Correct the path or unset it.")
    file = Path(named or DEFAULT_FILE)
    return file if file.is_file() else None


def _from_file(file: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(f"{str(file)!r} cannot be read: {error}", remedy="It has to be a TOML file.") from None
    names = aliases()
    for name in values:
        if name not in names:
            raise _unknown(name, f"in {str(file)!r}", list(names))
    _refuse_doubles({name: names[name] for name in values}, f"in {str(file)!r}")
    return {names[name]: value for name, value in values.items()}


def _secret_files() -> dict[str, Path]:
    """Files that hold secrets, by setting."""
    variables = {variable.upper(): value for variable, value in os.environ.items()}
    files = {name: variables.get(_variable(name) + IN_FILE) for name in secrets()}
    return {name: Path(file) for name, file in files.items() if file}


def _secret(name: str, file: Path) -> str:
    """Read a secret from a file, without surrounding white space. No error contains the value."""
    try:
        value = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(
            f"{_variable(name)}{IN_FILE}: {str(file)!r} cannot be read: {why}",
            remedy="Correct the path, or let the user that runs this process read it.",
        ) from None
    if not value:
        raise SettingsError(f"{_variable(name)}{IN_FILE}: {str(file)!r} is empty", remedy="Write the value into it.")
    return value


def _from_environment(files: Mapping[str, Path]) -> dict[str, Any]:
    names = {_variable(name): field for name, field in aliases().items()}
    names |= {_variable(name) + IN_FILE: name for name in secrets()}
    in_pod = SERVICE_ADDRESS.fullmatch(os.environ.get(SERVICE_PORT, ""))
    for variable in os.environ:
        known = variable.upper() in names or variable == CONFIG_FILE or (in_pod and SERVICE.fullmatch(variable))
        if variable.upper().startswith(PREFIX) and not known and not variable.startswith(TEST_PREFIX):
            raise _unknown(variable, "in the environment", [*names, CONFIG_FILE])
    # An empty variable is not set.
    given = {variable: variable.upper() for variable, value in os.environ.items() if value}
    used = {variable: names[name] for variable, name in given.items() if name in names}
    _refuse_doubles(used, "in the environment")
    source = EnvSettingsSource(Settings)
    from_files = {_variable(name).lower(): _secret(name, file) for name, file in files.items()}
    source.env_vars = {**source.env_vars, **from_files}
    try:
        return source()
    except Unreadable as error:
        # "error parsing value for field "warn_at" from source …": the name is between the first quotes.
        name = str(error).split('"')[1]
        raise SettingsError(
            f"{_variable(name)} (from the {_origin(files.get(name))}) is not valid JSON",
            remedy=f"Write lists and objects as JSON, for example [0.8, 0.95]. {REFERENCE}",
        ) from None


def _variable(name: str) -> str:
    return f"{PREFIX}{name.upper()}"


def _origin(file: Path | None) -> str:
    return f"file {str(file)!r}" if file else "environment"


def _refuse_doubles(names: Mapping[str, str], where: str) -> None:
    """Refuse two names of one setting in the same place; `names` has the setting of each."""
    used: dict[str, str] = {}
    for name in sorted(names):
        if (other := used.setdefault(names[name], name)) != name:
            raise SettingsError(f"{other} and {name} are both set {where}", remedy="Set one of them.")


def _unknown(name: str, where: str, known: list[str]) -> SettingsError:
    of_gateway = name.replace(PREFIX, f"{PREFIX}GATEWAY_", 1)
    close = [of_gateway] if of_gateway in known else get_close_matches(name, known, n=1, cutoff=0.8)
    hint = f"Did you mean {close[0]}? " if close else ""
    return SettingsError(f"unknown setting {name!r} {where}", remedy=f"{hint}{REFERENCE}")


def _explained(error: ValidationError, origins: Mapping[str, str]) -> SettingsError:
    lines = []
    for detail in error.errors(include_input=False, include_url=False):
        message = detail["msg"].removeprefix("Value error, ")
        if detail["loc"]:
            name = aliases().get(str(detail["loc"][0]), str(detail["loc"][0]))
            if detail["type"] == "tuple_type" and (default := Settings.model_fields[name].default):
                message = f"write a list as JSON, such as {json.dumps(to_jsonable_python(default))}"
            message = f"{name} ({_variable(name)}, from the {origins.get(name, 'default')}): {message}"
        lines.append(message)
    return SettingsError("; ".join(lines), remedy=f"Correct it and start again. {REFERENCE}")
