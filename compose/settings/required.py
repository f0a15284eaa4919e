"""Access to settings that a command requires."""

from purser.compose.errors import SettingsError
from purser.compose.settings.model import Settings


def required(settings: Settings, name: str) -> str:
    """The value of a required text setting.

    Raises:
        SettingsError: the setting is not set, and no running `up` provides it.
    """
    value: str | None = getattr(settings, name)
    if value is None:
        raise SettingsError(
            f"{name} is not set, and nothing runs on {str(settings.data_dir)!r}",
            remedy=f"Set PURSER_{name.upper()}, start `purser up`, or name its directory with --data DIR.",
        )
    return value
