"""Secrets that have to be read again, encrypted where they are stored.

Fernet (AES-128-CBC with HMAC-SHA256) of the library `cryptography`. The first key encrypts, every key decrypts.
"""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from purser.gateway.errors import SecretsKeyMissing, SecretUnreadable

HOW = "set PURSER_SECRETS_KEY (openssl rand -base64 32) for every gateway"


class Seal:
    """Encrypts and decrypts with the configured keys."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """`keys` are 32 bytes each in base64; without any, nothing can be stored."""
        self._fernets = [fernet(key) for key in keys]

    def close(self, secret: str) -> str:
        """The secret, encrypted; raises `SecretsKeyMissing`."""
        if not self._fernets:
            raise SecretsKeyMissing(f"no key is configured that encrypts secrets: {HOW}")
        return self._fernets[0].encrypt(secret.encode()).decode()

    def open(self, closed: str) -> str:
        """What was encrypted; raises `SecretUnreadable`."""
        try:
            return MultiFernet(self._fernets).decrypt(closed).decode() if self._fernets else _unreadable()
        except InvalidToken:
            return _unreadable()

    def renewed(self, closed: str) -> str | None:
        """The same secret encrypted with the first key; `None` if it is already. Raises `SecretUnreadable`."""
        try:
            self._fernets[0].decrypt(closed)
        except (IndexError, InvalidToken):
            return self.close(self.open(closed))
        return None


def fernet(key: str) -> Fernet:
    """Of a key in base64 of either alphabet; raises `ValueError`."""
    return Fernet(key.strip().replace("+", "-").replace("/", "_"))


def new_key() -> str:
    """A random key."""
    return Fernet.generate_key().decode()


def _unreadable() -> str:
    raise SecretUnreadable(
        "a stored secret was encrypted with a key that is not configured: add it to PURSER_SECRETS_KEY"
    )
