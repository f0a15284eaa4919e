"""What can go wrong between a caller and the parts behind the API.

GatewayError
├── Unauthenticated       no key, or one that is unknown or revoked
│   └── KeyEnded          the key has ended by itself
├── Forbidden             the key's role or tenant does not reach this far
│   └── ForgedRequest     a browser sent it, and nothing shows that a page of ours asked it to
├── TooManyRequests       one key calls too often, or one address guesses
├── UnknownKey            no key of this tenant has this id
├── KeyNameTaken          a live key has this name
├── AlreadyMade           the same request was answered before, with a secret that is shown once
├── TaskEnded             the task has ended, so it cannot be steered any more
├── CompressionFailed     a conversation could not be compressed
├── TargetRefused         a webhook may not have this address
├── SecretsKeyMissing     no key is configured that encrypts secrets
├── SecretUnreadable      a stored secret was encrypted with a key that is not configured
├── BodyRefused           the body is too large, or no JSON
└── TemporalUnavailable   Temporal does not answer
"""


class GatewayError(Exception):
    """Root of every error that this package raises on purpose."""


class Unauthenticated(GatewayError):
    """No key, or one that is unknown or revoked. Never says which."""


class KeyEnded(Unauthenticated):
    """The key has ended by itself. Only whoever holds it hears that."""


class Forbidden(GatewayError):
    """The key's role or tenant does not reach this far."""


class ForgedRequest(Forbidden):
    """A browser sent it, and nothing shows that a page of ours asked it to."""


class TooManyRequests(GatewayError):
    """One key calls too often, or one address guesses."""

    def __init__(self, message: str, retry_after_ms: int) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class UnknownKey(GatewayError):
    """No key of this tenant has this id."""


class KeyNameTaken(GatewayError):
    """A live key has this name."""


class AlreadyMade(GatewayError):
    """The same request was answered before, with a secret that is shown once."""


class TaskEnded(GatewayError):
    """The task has ended, so it cannot be steered any more."""


class CompressionFailed(GatewayError):
    """A conversation could not be compressed; what was stored before stands."""


class TargetRefused(GatewayError):
    """A webhook may not have this address. Names its origin at most: the path may be a secret."""


class SecretsKeyMissing(GatewayError):
    """No key is configured that encrypts secrets, so none can be stored."""


class SecretUnreadable(GatewayError):
    """A stored secret was encrypted with a key that is not configured."""


class BodyRefused(GatewayError):
    """The body is too large, or no JSON."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status
        """413 or 415."""


class TemporalUnavailable(GatewayError):
    """Temporal does not answer; what was asked is stored or can be asked again."""
