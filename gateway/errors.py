"""Errors of the gateway.

GatewayError
├── Unauthenticated       no key, or an unknown or revoked one
│   └── KeyEnded          the key has expired
├── Forbidden             the key's role or tenant does not allow it
│   ├── FeatureOff        a setting turns the feature off, for all keys
│   └── ForgedRequest     a browser sent it without proof that it comes from a page of Purser
├── TooManyRequests       a key calls too often, or an address sends too many wrong keys
├── UnknownKey            no key of this tenant has this id
├── KeyNameTaken          a live key has this name
├── AlreadyMade           the same request was answered before, with a secret that is shown once
├── TaskEnded             the task has ended, so it cannot be controlled any more
├── CompressionFailed     a conversation could not be compressed
├── TargetRefused         the address of a webhook is not allowed
├── SecretsKeyMissing     no key for encrypting secrets is configured
├── SecretUnreadable      a stored secret was encrypted with a key that is not configured
├── LinkInvalid           a link to an approval request is cut off or was changed
│   └── LinkExpired       the link has expired
├── BodyRefused           the body is too large, compressed, or not JSON
├── OutcomeUnknown        the ledger did not answer a request that may not be repeated
├── GatewayStopping       the gateway has been asked to stop
└── TemporalUnavailable   Temporal does not answer
"""

from typing import Self

from temporalio.service import RPCError

from purser.budget.errors import LedgerUnavailable


class GatewayError(Exception):
    """Base class of all errors that this package raises."""


class Unauthenticated(GatewayError):
    """No key, or an unknown or revoked one. The message never says which."""


class KeyEnded(Unauthenticated):
    """The key has expired. Only the holder of the key can learn this."""


class Forbidden(GatewayError):
    """The key's role or tenant does not allow it."""


class FeatureOff(Forbidden):
    """A setting turns the feature off, for all keys."""


class ForgedRequest(Forbidden):
    """A browser sent it without proof that it comes from a page of Purser."""


class TooManyRequests(GatewayError):
    """A key calls too often, or an address sends too many wrong keys."""

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
    """The task has ended, so it cannot be controlled any more."""


class CompressionFailed(GatewayError):
    """A conversation could not be compressed; stored summaries are unchanged."""


class TargetRefused(GatewayError):
    """The address of a webhook is not allowed. The message names only its origin: the path may be a secret."""


class SecretsKeyMissing(GatewayError):
    """No key for encrypting secrets is configured, so no secret can be stored."""


class SecretUnreadable(GatewayError):
    """A stored secret was encrypted with a key that is not configured."""


class LinkInvalid(GatewayError):
    """A link to an approval request is cut off or was changed."""


class LinkExpired(LinkInvalid):
    """The link has expired."""


class BodyRefused(GatewayError):
    """The body is too large, compressed, or not JSON."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status
        """413 or 415."""


class OutcomeUnknown(GatewayError, LedgerUnavailable):
    """The ledger did not answer a request that has another effect when it is repeated."""

    def __init__(self) -> None:
        super().__init__("the ledger did not answer, and the request may have arrived all the same; check Postgres")


class GatewayStopping(GatewayError):
    """The gateway has been asked to stop."""

    def __init__(self, message: str = "the gateway is stopping: it finishes requests in progress") -> None:
        super().__init__(message)


class TemporalUnavailable(GatewayError):
    """Temporal does not answer; the request is stored or can be repeated."""

    @classmethod
    def of(cls, error: RPCError | RuntimeError, consequence: str = "") -> Self:
        """From the error of a call; a `RuntimeError` comes from a client that has never been connected."""
        status = error.status.name if isinstance(error, RPCError) else "no connection"
        return cls(f"Temporal did not answer ({status}){consequence}")
