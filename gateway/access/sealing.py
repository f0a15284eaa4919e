"""Encryption of stored secrets that have to be read again.

Uses Fernet (AES-128-CBC with HMAC-SHA256) of the library `cryptography`. The first key encrypts, all keys decrypt.
"""

from collections.abc import Sequence
from contextlib import suppress

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from purser.gateway.errors import SecretsKeyMissing, SecretUnreadable

HOW = "set PURSER_SECRETS_KEY (openssl rand -base64 32) for every gateway"


class Seal:
    """Encrypts and decrypts with the configured keys."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """`keys` are 32 bytes each, in base64; without keys no secret can be stored."""
        self._fernets = [fernet(key) for key in keys]

    def encrypt(self, secret: str) -> str:
        """Encrypts a secret; raises `SecretsKeyMissing`."""
        if not self._fernets:
            raise SecretsKeyMissing(f"no key for encrypting secrets is configured: {HOW}")
        return self._fernets[0].encrypt(secret.encode()).decode()

    def decrypt(self, encrypted: str) -> str:
        """Decrypts a secret; raises `SecretUnreadable`."""
        if self._fernets:
            with suppress(InvalidToken):
                return MultiFernet(self._fernets).decrypt(encrypted).decode()
        raise SecretUnreadable(
            "a stored secret was encrypted with a key that is not configured: add it to PURSER_SECRETS_KEY"
        )

    def reencrypt(self, encrypted: str) -> str | None:
        """Encrypts a secret with the first key; `None` if it already is. Raises `SecretUnreadable`."""
        try:
            self._fernets[0].decrypt(encrypted)
        except (IndexError, InvalidToken):
            return self.encrypt(self.decrypt(encrypted))
        return None


def fernet(key: str) -> Fernet:
    """Creates a Fernet from a key in base64 of either alphabet; raises `ValueError`."""
    return Fernet(key.strip().replace("+", "-").replace("/", "_"))


def new_key() -> str:
    """Returns a random key."""
    return Fernet.generate_key().decode()
