"""Personal settings of a user or a session, which every window begins with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from purser.context.conversation.messages import Message
from purser.context.conversation.quoting import quoted
from purser.context.errors import InvalidPreferences, InvalidSettings
from purser.context.figures import Figures
from purser.context.resolution import ResolvedContext, resolve

MOST_FIELDS = 50
MOST_NAME = 64
MOST_CHARACTERS = 8_000
"""Limit for all names and texts together, because every window carries them."""
CONTEXT = "context"
"""Field with the figures of windows, an object as `Figures`; it is no text of a prompt."""
_HEADER = "Personal settings of the user, to be respected wherever the instructions leave room:"


@dataclass(frozen=True, slots=True)
class Preferences:
    """One version of the settings of a user or a session."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    """Text or any other JSON value by name; empty if nothing is set."""
    version: int = 0
    """Number of changes so far; 0 if there was none."""
    changed_by: str | None = None
    changed_at: datetime | None = None

    @property
    def figures(self) -> Mapping[str, Any]:
        """Figures of windows by name."""
        found = self.fields.get(CONTEXT)
        return Figures.of(found, CONTEXT).given if found else {}


@dataclass(frozen=True, slots=True)
class Personal:
    """The settings in effect in one session: a field of the session overrides the same field of its user."""

    user: Preferences = Preferences()
    session: Preferences = Preferences()

    @property
    def fields(self) -> dict[str, Any]:
        """Merged fields of the prompt by name; a session disables a field of its user with `null` or an empty text."""
        merged = {**self.user.fields, **self.session.fields}
        return {name: value for name, value in merged.items() if name != CONTEXT and value not in (None, "")}

    @property
    def versions(self) -> tuple[int, int]:
        """Versions of the user's and the session's settings, which identify what a window shows."""
        return self.user.version, self.session.version

    def resolved(
        self, base: ResolvedContext, request: Mapping[str, Any] | None = None, use_case_preset: str | None = None
    ) -> ResolvedContext:
        """Resolves the context settings of this session.

        Args:
            base: settings of the process.
            request: figures of a task or of a request for a window.
            use_case_preset: preset of a task.

        Raises:
            InvalidSettings: figures of the request contradict one another.
        """
        return resolve(
            base,
            request=request or {},
            session=self.session.figures,
            user=self.user.figures,
            use_case_preset=use_case_preset,
        )

    @property
    def message(self) -> Message | None:
        """The message that a window begins with, one line per setting; `None` where nothing is set.

        A user wrote the settings, so the message has the role of a user, whatever it says.
        """
        if not self.fields:
            return None
        lines = [quoted(" ".join(f"- {name}: {_text(value)}".split())) for name, value in self.fields.items()]
        return Message("user", "\n".join([_HEADER, *lines]))


def check_fields(fields: Mapping[str, Any]) -> None:
    """Raises `InvalidPreferences` for too many settings, too long ones, an unprintable name or unknown figures."""
    try:
        if fields.get(CONTEXT) is not None:
            Figures.of(fields[CONTEXT], CONTEXT)
    except InvalidSettings as error:
        raise InvalidPreferences(str(error)) from None
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
