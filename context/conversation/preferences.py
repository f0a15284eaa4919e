"""Personal settings: what a user, or one session, wants every window to begin with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from purser.context.conversation.messages import Message
from purser.context.conversation.quoting import quoted
from purser.context.errors import InvalidPreferences

MOST_FIELDS = 50
MOST_NAME = 64
MOST_CHARACTERS = 8_000
"""Of all names and texts together: every window carries them."""
_HEADER = "Personal settings of the user, to be respected wherever the instructions leave room:"


@dataclass(frozen=True, slots=True)
class Preferences:
    """One version of the settings of a user or a session."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """Text, or any JSON, by name; empty: nothing is set."""
    version: int = 0
    """Counts the changes; 0: there never was one."""
    changed_by: str | None = None
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Personal:
    """What holds in one session: a field of the session goes before the same field of its user."""

    user: Preferences = Preferences()
    session: Preferences = Preferences()

    @property
    def fields(self) -> dict[str, Any]:
        """By name; a session turns a field of its user off with `null` or an empty text."""
        merged = {**self.user.fields, **self.session.fields}
        return {name: value for name, value in merged.items() if value not in (None, "")}

    @property
    def versions(self) -> tuple[int, int]:
        """Of user and session: names what a window shows."""
        return self.user.version, self.session.version

    @property
    def message(self) -> Message | None:
        """The message that a window begins with, one line a setting; `None` where nothing is set.

        Settings are what a user wrote: they have a user's authority, whatever they say.
        """
        if not self.fields:
            return None
        lines = [quoted(" ".join(f"- {name}: {_text(value)}".split())) for name, value in self.fields.items()]
        return Message("user", "\n".join([_HEADER, *lines]))


def check_fields(fields: Mapping[str, Any]) -> None:
    """Raises `InvalidPreferences` where settings are too many or too long, or a name cannot stand before its text."""
    if len(fields) > MOST_FIELDS:
        raise InvalidPreferences(f"settings have {len(fields)} fields: use at most {MOST_FIELDS}")
    for name in fields:
        if not (name and name.isprintable() and len(name) <= MOST_NAME):
            raise InvalidPreferences(f"field {name[:80]!r} is not valid: use 1 to {MOST_NAME} printable characters")
    characters = sum(len(name) + len(_text(value)) for name, value in fields.items())
    if characters > MOST_CHARACTERS:
        raise InvalidPreferences(f"settings take {characters} characters: shorten them to {MOST_CHARACTERS}")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
