"""Where requests to a model go: the providers that are known, their addresses, and the key that each gets."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import httpx

from purser.activities.errors import Cost, ProviderRejected
from purser.activities.models.litellm_library import litellm_library
from purser.activities.models.names import check_model_name

SETTING = "PURSER_ALLOWED_PROVIDERS"
NO_KEY = "none"
"""Sent where no key is configured: LiteLLM would take one from the environment, whoever the host is."""


@dataclass(frozen=True, slots=True)
class Home:
    """A provider's own address."""

    base: str
    variables: tuple[str, ...]
    """Environment variables that may hold its key."""
    sdk: bool = False
    """Whether LiteLLM reaches it through OpenAI's library rather than through its own HTTP client."""
    sdk_vectors: bool = False
    """The same for vectors, where that differs."""


HOMES: Mapping[str, Home] = {
    "anthropic": Home("https://api.anthropic.com", ("ANTHROPIC_API_KEY",)),
    "cerebras": Home("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",), sdk=True),
    "dashscope": Home("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY",), sdk=True),
    "deepseek": Home("https://api.deepseek.com", ("DEEPSEEK_API_KEY",)),
    "fireworks_ai": Home(
        "https://api.fireworks.ai/inference/v1", ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"), sdk_vectors=True
    ),
    "gemini": Home("https://generativelanguage.googleapis.com", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "groq": Home("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": Home("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), sdk_vectors=True),
    "moonshot": Home("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",), sdk=True),
    "openai": Home("https://api.openai.com/v1", ("OPENAI_API_KEY",), sdk=True),
    "openrouter": Home("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "perplexity": Home("https://api.perplexity.ai", ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"), sdk=True),
    "together_ai": Home("https://api.together.ai/v1", ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"), sdk_vectors=True),
    "xai": Home("https://api.x.ai/v1", ("XAI_API_KEY",)),
}
"""Providers for which LiteLLM sends one request an attempt, through the client that it is given. All others are
refused."""

_OWN_PREFIXES = tuple(
    f"{name}/"
    for name in ("openai", "custom_openai", "openai_like", "hosted_vllm", "litellm_proxy", "lm_studio", "llamafile")
)
"""LiteLLM's names for "speaks OpenAI's protocol", which are no part of a model's own name."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way to one model."""

    provider: str
    """As LiteLLM names it."""
    model: str
    """As LiteLLM takes it for this provider."""
    base: str
    """Requests go to this host and nowhere else; to an address of one's own also only below its path."""
    key: str
    own: bool
    """Whether the address is an `api_base` rather than the provider's own."""
    sdk: bool
    """Whether LiteLLM takes a client of OpenAI's library for it."""

    def covers(self, url: httpx.URL) -> bool:
        """Whether a request may go there."""
        base = urlsplit(self.base)
        asked = urlsplit(str(url))
        same = (asked.scheme, _host(asked)) == (base.scheme, _host(base))
        return same and (not self.own or asked.path.startswith(f"{base.path.rstrip('/')}/"))


def _host(parts: SplitResult) -> tuple[str | None, int | None]:
    return parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def route(
    model: str,
    api_base: str | None,
    keys: Mapping[str, str],
    allowed: Collection[str] | None,
    *,
    vectors: bool = False,
) -> Route:
    """The way to a model.

    Args:
        model: as LiteLLM names it.
        api_base: an address of one's own: it is asked in OpenAI's protocol, whatever the model is called.
        keys: provider key by host, with its port if it has one of its own.
        allowed: providers that may be asked at their own address; `None`: those that have a key.
        vectors: whether the model is asked for vectors.

    Raises:
        ProviderRejected: the provider is not allowed or has no key; nothing was sent.
    """
    try:
        check_model_name(model)
    except ValueError:
        raise ProviderRejected("bad_model_name", cost=Cost.NOTHING) from None
    if api_base is not None:
        prefix = next((each for each in _OWN_PREFIXES if model.startswith(each)), "")
        name = model.removeprefix(prefix)
        return Route("openai", name, api_base, _key(api_base, keys) or NO_KEY, own=True, sdk=True)
    provider, name = _provider_of(model)
    home = HOMES.get(provider)
    if home is None or (allowed is not None and provider not in allowed):
        raise ProviderRejected("provider_not_allowed", cost=Cost.NOTHING)
    key = _key(home.base, keys) or next((os.environ[name] for name in home.variables if os.environ.get(name)), None)
    if key is None:
        raise ProviderRejected("authentication", cost=Cost.NOTHING)
    return Route(provider, name, home.base, key, own=False, sdk=home.sdk or (vectors and home.sdk_vectors))


def _key(address: str, keys: Mapping[str, str]) -> str | None:
    parts = urlsplit(address)
    return keys.get(parts.netloc) or keys.get(parts.hostname or "")


def _provider_of(model: str) -> tuple[str, str]:
    """LiteLLM's provider of a model, and the model's name there; empty where it knows none."""
    library = litellm_library()
    prefix, _, _ = model.partition("/")
    if prefix in library.provider_list and prefix not in HOMES:
        # Not asked any further: for some of them LiteLLM looks things up in the network here.
        return prefix, model
    try:
        name, provider, _, _ = library.get_llm_provider(model=model)
    except library.exceptions.BadRequestError:
        return "", model
    return str(provider), str(name)
