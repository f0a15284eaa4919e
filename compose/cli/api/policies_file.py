"""The file of `purser budget apply` and `export`: `policies` by scope or template, in YAML or JSON."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml

from purser.budget.money import typed_dollars
from purser.compose.errors import UnreadableFile


class _Loader(yaml.SafeLoader):
    """Refuses a name that occurs twice: YAML itself would silently take the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{name!r} occurs twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def read_policies_file(path: Path) -> dict[str, Any]:
    """Read the policies of a file, by name; the gateway checks their fields.

    Raises:
        UnreadableFile: it is neither YAML nor JSON, or not a document of policies; the message names the line.
    """
    try:
        with path.open("rb") as file:
            document = yaml.load(file, _Loader)
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise UnreadableFile(f"{str(path)!r} is nested too deeply") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise UnreadableFile(f"{str(path)!r} is neither YAML nor JSON: {' '.join(str(error).split())}") from None
    policies = document.get("policies") if isinstance(document, dict) and document.keys() == {"policies"} else None
    if not isinstance(policies, dict) or not all(isinstance(name, str) for name in policies):
        raise UnreadableFile(
            f"{str(path)!r} is no document of policies",
            remedy="Write one object `policies`, by scope or template: `purser budget export` prints an example.",
        )
    return {name: _as_text(fields) for name, fields in policies.items()}


def write_policies(policies: Mapping[str, Mapping[str, Any]]) -> str:
    """Format policies, as `GET /v1/policies` returns them, for a file; money in dollars."""
    document = {"policies": {name: _in_dollars(fields) for name, fields in policies.items()}}
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text


def _as_text(fields: Any) -> Any:
    """Dollars as text: `limit_usd: 0.25` without quotes is a number in YAML."""
    if not isinstance(fields, dict) or isinstance(fields.get("limit_usd"), str | None):
        return fields
    return fields | {"limit_usd": str(fields["limit_usd"])}


def _in_dollars(fields: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(fields)
    if "limit_nano_usd" in shown:
        shown["limit_usd"] = typed_dollars(shown.pop("limit_nano_usd"))
    return shown
