"""Routes of requests to models: the known providers, their addresses and their keys."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import httpx

from purser.activities.errors import Cost, ProviderRejected
from purser.activities.models.litellm_library import litellm_library
from purser.activities.models.names import check_model_name

NO_KEY = "none"
"""Sent if no key is configured; otherwise LiteLLM would send a key from the environment to any host."""


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    """A provider's own address."""

    base: str
    variables: tuple[str, ...]
    """Environment variables that may contain its key."""
    sdk: bool = False
    """Whether LiteLLM reaches it through OpenAI's library rather than through its own HTTP client."""
    sdk_vectors: bool = False
    """Whether LiteLLM does so for embeddings, even if not for chat."""


PROVIDERS: Mapping[str, ProviderAddress] = {
    "anthropic": ProviderAddress("https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    "cerebras": ProviderAddress("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), sdk=True),
    "dashscope": ProviderAddress(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY",), sdk=True
    ),
    "deepseek": ProviderAddress("https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
    "fireworks_ai": ProviderAddress(
        "https://api.fireworks.ai/inference/v1", ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"), sdk_vectors=True
    ),
    "gemini": ProviderAddress("https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "groq": ProviderAddress("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": ProviderAddress("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), sdk_vectors=True),
    "moonshot": ProviderAddress("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",), sdk=True),
    "openai": ProviderAddress("https://api.openai.com/v1", ("OPENAI_API_KEY",), sdk=True),
    "openrouter": ProviderAddress("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "perplexity": ProviderAddress(
        "https://api.perplexity.ai", ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"), sdk=True
    ),
    "together_ai": ProviderAddress(
        "https://api.together.ai/v1", ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"), sdk_vectors=True
    ),
    "xai": ProviderAddress("https://api.x.ai/v1", ("XAI_API_KEY",)),
}
"""Providers for which LiteLLM sends one request per attempt, through the client that it receives. All others are
refused."""

_OWN_PREFIXES = tuple(
    f"{name}/"
    for name in ("openai", "custom_openai", "openai_like", "hosted_vllm", "litellm_proxy", "lm_studio", "llamafile")
)
"""LiteLLM's prefixes for OpenAI-compatible servers, which are not part of a model's own name."""


@dataclass(frozen=True, slots=True)
class Route:
    """The address and key of one model."""

    provider: str
    """Name of the provider in LiteLLM."""
    model: str
    """Name of the model at this provider in LiteLLM."""
    base: str
    """Requests go to this host and nowhere else; with an `api_base`, only below its path."""
    key: str
    own: bool
    """Whether the address is an `api_base` rather than the provider's own."""
    sdk: bool
    """Whether LiteLLM expects a client of OpenAI's library."""

    @property
    def label(self) -> str:
        """The provider for people: its name, or host and port of the `api_base`."""
        return host_label(self.base) if self.own else self.provider

    def covers(self, url: httpx.URL) -> bool:
        """Whether a request may go to this address."""
        base = urlsplit(self.base)
        asked = urlsplit(str(url))
        same = (asked.scheme, _host(asked)) == (base.scheme, _host(base))
        return same and (not self.own or asked.path.startswith(f"{base.path.rstrip('/')}/"))


def _host(parts: SplitResult) -> tuple[str | None, int | None]:
    return parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def route_to(
    model: str,
    api_base: str | None,
    keys: Mapping[str, str],
    allowed: Collection[str] | None,
    *,
    vectors: bool = False,
) -> Route:
    """Returns the route to a model.

    Args:
        model: name of the model in LiteLLM.
        api_base: address of an OpenAI-compatible server, whatever the model is called; `None`: the provider's own.
        keys: provider key by host, with the port if it is not the default.
        allowed: providers that may be asked at their own address; `None`: those that have a key.
        vectors: whether the request is for embeddings.

    Raises:
        ProviderRejected: the provider is not allowed or has no key; nothing was sent.
    """
    try:
        check_model_name(model)
    except ValueError:
        raise ProviderRejected("bad_model_name", cost=Cost.NOTHING) from None
    if api_base is not None:
        return Route("openai", own_name(model), api_base, _key(api_base, keys) or NO_KEY, own=True, sdk=True)
    provider, name = _provider_of(model)
    address = PROVIDERS.get(provider)
    if address is None or (allowed is not None and provider not in allowed):
        raise ProviderRejected("provider_not_allowed", cost=Cost.NOTHING)
    key = _key_of(address, keys)
    if key is None:
        raise ProviderRejected("authentication", cost=Cost.NOTHING)
    return Route(provider, name, address.base, key, own=False, sdk=address.sdk or (vectors and address.sdk_vectors))


def open_providers(keys: Mapping[str, str], allowed: Collection[str] | None) -> frozenset[str]:
    """Names of the providers to whose own address requests go: allowed, and with a key; see `route_to`."""
    named = PROVIDERS if allowed is None else set(PROVIDERS).intersection(allowed)
    return frozenset(name for name in named if _key_of(PROVIDERS[name], keys) is not None)


def own_name(model: str) -> str:
    """The name of a model at an `api_base`, without LiteLLM's prefix for OpenAI-compatible servers."""
    return model.removeprefix(next((each for each in _OWN_PREFIXES if model.startswith(each)), ""))


def host_label(base: str) -> str:
    """Host and port of an address."""
    host, port = _host(urlsplit(base))
    return f"{host}:{port}"


def _key_of(address: ProviderAddress, keys: Mapping[str, str]) -> str | None:
    """The key of a provider, from the settings or from the environment."""
    stated = (os.environ[name] for name in address.variables if os.environ.get(name))
    return _key(address.base, keys) or next(stated, None)


def _key(address: str, keys: Mapping[str, str]) -> str | None:
    parts = urlsplit(address)
    return keys.get(parts.netloc) or keys.get(parts.hostname or "")


def _provider_of(model: str) -> tuple[str, str]:
    """Returns LiteLLM's provider of a model, empty if it knows none, and the model's name there."""
    library = litellm_library()
    prefix, _, _ = model.partition("/")
    if prefix in library.provider_list and prefix not in PROVIDERS:
        # LiteLLM is not asked further: for some of these providers it would use the network here.
        return prefix, model
    try:
        name, provider, _, _ = library.get_llm_provider(model=model)
    except library.exceptions.BadRequestError:
        return "", model
    return str(provider), str(name)
