"""What making a client takes."""

import ssl
from typing import Any

import pytest

from purser_client import Purser


@pytest.mark.parametrize(("url", "reads"), [("http://127.0.0.1:8787", False), ("https://purser.example.com", True)])
def test_only_a_client_of_https_reads_certificates(url: str, reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[ssl.SSLContext]()
    create = ssl.create_default_context

    def noted(*args: Any, **options: Any) -> ssl.SSLContext:
        made.append(create(*args, **options))
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", noted)
    Purser(url, "a-key").close()
    assert bool(made) is reads
