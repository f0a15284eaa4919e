"""Settings: command line > environment (`PURSER_*`) > file > default. Unknown keys are errors."""

from compose.settings.load import load_settings
from compose.settings.model import Settings

__all__ = ["Settings", "load_settings"]
