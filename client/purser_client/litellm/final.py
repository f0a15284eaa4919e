"""Errors that LiteLLM hands to the caller, instead of trying again or going on."""

from functools import cache
from typing import Any

from purser_client.errors import PurserError


class _Final(ImportError):
    """The one kind of error that the wrapper of LiteLLM does not repeat: a repetition there passes no callback."""

    status_code = 400
    """With it a Router neither repeats the request nor rests the deployment; with 402, 403 and none it would."""

    def __reduce__(self) -> Any:
        kind: Any = type(self).__bases__[1]
        return kind, kind.__reduce__(self)[1]


class UnheldCall(BaseException):
    """A call before which LiteLLM awaits nobody, and which was therefore not sent.

    Not an `Exception`: LiteLLM logs those of the callback that it has then, and sends all the same.
    """


def final(error: PurserError) -> PurserError:
    """The same error, which LiteLLM does not repeat."""
    kind: Any = type(error)
    made: PurserError = _kind(kind)(*error.args)
    vars(made).update(vars(error))
    return made


@cache
def _kind(error: Any) -> Any:
    namespace = {"__doc__": error.__doc__, "__init__": ImportError.__init__, "__module__": error.__module__}
    return type(error.__name__, (_Final, error), namespace)
