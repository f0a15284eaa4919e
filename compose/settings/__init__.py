"""Settings: command line > environment (`PURSER_*`) > file > default. Unknown keys are errors."""

from purser.compose.settings.load import load_settings
from purser.compose.settings.model import Settings

__all__ = ["Settings", "load_settings"]
