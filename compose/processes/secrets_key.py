"""The key with which one `purser up` encrypts stored secrets."""

import os
from pathlib import Path

from pydantic import SecretStr

from purser.gateway.access.sealing import new_key

FILE = "secrets.key"


def own_secrets_key(data: Path) -> SecretStr:
    """The key of a data directory, made when there is none; only its owner can read the file."""
    file = data / FILE
    if not file.exists():
        draft = data / f"{FILE}.{os.getpid()}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
            written.write(new_key())
        draft.replace(file)
    return SecretStr(file.read_text().strip())
