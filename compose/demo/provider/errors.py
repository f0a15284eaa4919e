"""What can be wrong with what the provider is given.

ComposeError
└── ProviderError
    ├── ScriptError      a script is not valid: which field, and why
    └── RecordingError   a recording cannot be read, or does not hold what was asked of it

Bad requests are no exceptions: they are answered with a status, as a provider does.
"""

from pydantic import ValidationError

from purser.compose.errors import ComposeError


class ProviderError(ComposeError):
    """Base of everything that the provider raises on purpose."""


class ScriptError(ProviderError):
    """A script of rules and faults is not valid."""


class RecordingError(ProviderError):
    """A recording cannot be read, or does not hold what was asked of it."""


def reason(error: OSError | ValidationError) -> str:
    """Why a file could not be used: field and cause, never the values in it, which may be conversation text."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    places = (".".join(map(str, detail["loc"])) or "the document" for detail in error.errors(include_input=False))
    causes = (detail["msg"] for detail in error.errors(include_input=False))
    return "; ".join(f"{place}: {cause}" for place, cause in zip(places, causes, strict=True))
