"""The key that `purser up` uses to encrypt stored secrets."""

import os
from pathlib import Path

from pydantic import SecretStr

from purser.gateway.access.sealing import new_key

FILE = "secrets.key"


def own_secrets_key(data: Path) -> SecretStr:
    """The key of a data directory, created if missing; only its owner can read the file."""
    file = data / FILE
    if not file.exists():
        temporary = data / f"{FILE}.{os.getpid()}"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
            written.write(new_key())
        temporary.replace(file)
    return SecretStr(file.read_text().strip())
