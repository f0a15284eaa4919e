"""Errors of the provider: invalid scripts and recordings.

ComposeError
└── ProviderError
    ├── ScriptError      a script is not valid: which field, and why
    └── RecordingError   a recording cannot be read, or lacks the requested agent

Invalid requests raise nothing: they are answered with an error status, as by any provider.
"""

from pydantic import ValidationError

from purser.compose.errors import ComposeError


class ProviderError(ComposeError):
    """Base of all errors that the provider raises."""


class ScriptError(ProviderError):
    """A script of rules and faults is not valid."""


class RecordingError(ProviderError):
    """A recording cannot be read, or lacks the requested agent."""


def reason(error: OSError | ValidationError) -> str:
    """Why an input is not valid: field and cause, never its values, which may be conversation text."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    places = (".".join(map(str, detail["loc"])) or "the document" for detail in error.errors(include_input=False))
    causes = (detail["msg"] for detail in error.errors(include_input=False))
    return "; ".join(f"{place}: {cause}" for place, cause in zip(places, causes, strict=True))
