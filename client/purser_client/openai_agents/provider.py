"""The provider that goes into `RunConfig(model_provider=…)` or `OpenAIAgentsPlugin(model_provider=…)`."""

from typing import Unpack

from agents import Model, ModelProvider, OpenAIProvider
from openai import AsyncOpenAI

from purser_client.calls.options import CallOptions
from purser_client.client import AsyncPurser
from purser_client.openai_agents.model import PurserModel, name_of


class PurserProvider(ModelProvider):
    """Hands out the models of another provider, with a budget around each."""

    def __init__(
        self, purser: AsyncPurser, inner: ModelProvider | None = None, /, **options: Unpack[CallOptions]
    ) -> None:
        """Makes a provider.

        Args:
            purser: The client of the gateway, open as long as agents run.
            inner: Whose models are called; by default those of OpenAI, without retries of their own. Switch those of
                another one off too (`AsyncOpenAI(max_retries=0)`): they would be requests that nobody holds for.
            options: How calls are held, see `CallOptions`.
        """
        self._purser = purser
        self._inner = inner or OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0))
        self._options = options

    def get_model(self, model_name: str | None) -> Model:
        inner = self._inner.get_model(model_name)
        return PurserModel(self._purser, inner, name_of(inner) or model_name, **self._options)

    async def aclose(self) -> None:
        await self._inner.aclose()
