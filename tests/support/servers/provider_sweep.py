"""Sends requests to models of every provider of LiteLLM and prints every address that the process tried to reach.

It runs as a separate process (`python -m tests.support.servers.provider_sweep`), because it audits look-ups and
connections.
"""

import asyncio
import json
import os
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from purser.activities.errors import ProviderError
from purser.activities.models.embedding_requests import EmbeddingRequest
from purser.activities.models.litellm_library import litellm_library
from purser.activities.models.partial_replies import PartialReply
from purser.activities.models.provider import ModelProvider, ModelRequest, Timeouts
from tests.support.servers.raw_server import RawServer, raw_server, replies

SECRET = "secret-of-the-environment"
BUSY = replies(b'{"error": {"message": "busy"}}', "application/json", "500 Internal Server Error")
_ENVIRONMENT = (
    "OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "WATSONX_TOKEN", "WATSONX_APIKEY", "GIGACHAT_API_KEY",
    "GIGACHAT_CREDENTIALS", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "AZURE_AD_TOKEN",
    "OPENAI_API_KEY",
)  # fmt: skip
_SPECIAL = (
    "responses/m",
    "gpt-5-pro",
    "o1-pro",
    "gpt-5.4",
    "gpt-3.5-turbo-instruct",
    "ft:gpt-4o:us",
    "o3-deep-research",
)
"""Models for which LiteLLM uses other APIs."""
IMAGE = "/image.png"


@dataclass
class Asked:
    """One request and its effects."""

    model: str
    kind: str
    reason: str = ""
    """Why it failed."""
    contacts: list[str] = field(default_factory=list)
    """Hosts that were looked up, and addresses that were connected to, other than the allowed one."""
    requests: int = 0
    """Requests that the allowed address received."""
    leaked: bool = False
    """Whether one of them contained a secret of the environment."""


class Watch:
    """Records what the process tries to reach, and prevents it."""

    def __init__(self, allowed: int) -> None:
        """Args:
        allowed: port on loopback that may be connected to.
        """
        self.contacts: list[str] = []
        self._allowed = allowed
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo" and args[0] != "127.0.0.1":
            self.contacts.append(args[0].decode() if isinstance(args[0], bytes) else str(args[0]))
            raise OSError("there is no network")
        if event == "socket.connect" and isinstance(args[1], tuple) and args[1][:2] != ("127.0.0.1", self._allowed):
            self.contacts.append(f"{args[1][0]}:{args[1][1]}")
            raise OSError("there is no network")
        if event == "subprocess.Popen" and args[0] != "uname":
            self.contacts.append(f"process {args[0]}")
            raise OSError("there are no processes")


async def sweep() -> list[Asked]:
    """Sends all requests."""
    library = litellm_library()
    names = sorted({str(getattr(each, "value", each)) for each in library.provider_list})
    async with raw_server(BUSY) as server:
        watch = Watch(server.port)
        provider = ModelProvider({}, Timeouts(silence_s=10, total_s=30))
        found = []
        for name in names:
            for variable in (*_ENVIRONMENT, *library.validate_environment(model=f"{name}/m-1")["missing_keys"]):
                os.environ[variable] = SECRET
            found.append(await ask(provider, watch, server, f"{name}/http://127.0.0.1:9/internal", "address"))
            found.append(await ask(provider, watch, server, f"{name}/m-1", "home"))
            found.append(await ask(provider, watch, server, f"{name}/m-1", "image", image=True))
            found.append(await ask(provider, watch, server, f"{name}/m-1", "base", server.api_base))
            found.append(await embed(provider, watch, server, f"{name}/m-1", "home embedding"))
            found.append(await embed(provider, watch, server, f"{name}/m-1", "base embedding", server.api_base))
        for model in _SPECIAL:
            found.append(await ask(provider, watch, server, model, "home"))
            found.append(await ask(provider, watch, server, model, "base", server.api_base))
        return found


async def ask(
    provider: ModelProvider,
    watch: Watch,
    server: RawServer,
    model: str,
    kind: str,
    base: str | None = None,
    *,
    image: bool = False,
) -> Asked:
    """Sends a chat of one message."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": "Hello"}]
    if image:
        parts.append({"type": "image_url", "image_url": {"url": f"http://127.0.0.1:{server.port}{IMAGE}"}})
    request = ModelRequest(model, [{"role": "user", "content": parts}], (), 50, "7-1", base)
    return await _watched(provider.complete(request, PartialReply()), watch, server, Asked(model, kind))


async def embed(
    provider: ModelProvider, watch: Watch, server: RawServer, model: str, kind: str, base: str | None = None
) -> Asked:
    """Requests the vectors of one text."""
    request = EmbeddingRequest(model, ["Hello"], "7-1", base)
    return await _watched(provider.embed(request), watch, server, Asked(model, kind))


async def _watched(work: Any, watch: Watch, server: RawServer, asked: Asked) -> Asked:
    server.requests.clear()
    watch.contacts.clear()
    try:
        await work
    except ProviderError as failure:
        asked.reason = failure.reason
    asked.contacts = sorted(set(watch.contacts))
    asked.requests = len(server.requests)
    asked.leaked = any(SECRET.encode() in request for request in server.requests)
    return asked


if __name__ == "__main__":
    sys.stdout.write(json.dumps([asdict(each) for each in asyncio.run(sweep())]))
