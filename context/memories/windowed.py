"""Memories that build their window with one strategy on every call."""

from collections.abc import Callable, Sequence

from purser.budget.pricing.price_book import PriceBook
from purser.context.compression.extracts.extraction import extract
from purser.context.compression.writing import Writer
from purser.context.conversation.messages import Message
from purser.context.memories.base import ConversationMemory
from purser.context.strategies import StrategyName, StrategySettings
from purser.context.tokens import window_of
from purser.context.windows import build_window
from purser.wire.limits import USUAL_MODEL


class WindowedMemory(ConversationMemory):
    """Shows the window of one strategy."""

    strategy: StrategyName

    def __init__(
        self,
        max_tokens: int | None,
        settings: StrategySettings,
        summarize: Callable[..., str] | None,
        system_prompt: str,
        model: str,
    ) -> None:
        """Args:
        max_tokens: upper bound of the window; `None` for the model's context window.
        settings: parameters of the strategy.
        summarize: summarizes a text; `None` for extractive summaries.
        system_prompt, model: as for every memory.
        """
        super().__init__(system_prompt, model=model)
        self.max_tokens = max_tokens or window_of(model, PriceBook.load().context_window(model))
        self._settings = settings
        self._summarize = summarize

    def window(self) -> Sequence[Message]:
        """The window of the strategy; raises `WindowTooSmall` where required messages do not fit."""
        writer = Writer(self._summarize, self.model) if self._summarize else extract
        return build_window(
            self.messages,
            budget=self.max_tokens,
            model=self.model,
            strategy=self.strategy,
            settings=self._settings,
            summarize=writer,
        ).messages


class SlidingWindowMemory(WindowedMemory):
    """Shows the newest rounds and drops older ones."""

    strategy = StrategyName.SLIDING_WINDOW

    def __init__(
        self, k: int = 10, max_tokens: int | None = None, *, system_prompt: str = "", model: str = USUAL_MODEL
    ) -> None:
        """Args:
        k: number of rounds; a round is a user message with all that follows it.
        max_tokens: upper bound of the window.
        system_prompt, model: as for every memory.
        """
        super().__init__(max_tokens, StrategySettings(rounds=k, keeps_first_request=False), None, system_prompt, model)


class TokenTruncationMemory(WindowedMemory):
    """Shows the newest messages that fit and drops older ones."""

    strategy = StrategyName.TOKEN_TRUNCATION

    def __init__(self, model: str = "gpt-4", max_tokens: int = 4_096, *, system_prompt: str = "") -> None:
        """Args:
        model: the model whose tokenizer counts.
        max_tokens: upper bound of the window.
        system_prompt: always stays the first message.
        """
        super().__init__(max_tokens, StrategySettings(keeps_first_request=False), None, system_prompt, model)


class ThreePartMemory(WindowedMemory):
    """Shows primers, a summary of the middle, and recents."""

    strategy = StrategyName.THREE_PART

    def __init__(
        self,
        max_tokens: int = 4_096,
        *,
        primers: int = 3,
        recents: int = 20,
        summarize: Callable[..., str] | None = None,
        system_prompt: str = "",
        model: str = USUAL_MODEL,
    ) -> None:
        """Args:
        max_tokens: upper bound of the window; a conversation that fits is shown whole.
        primers, recents: numbers of first and last messages that stay verbatim.
        summarize: summarizes a text; without it, summaries are extractive.
        system_prompt, model: as for every memory.
        """
        settings = StrategySettings(primers_count=primers, recents_count=recents)
        super().__init__(max_tokens, settings, summarize, system_prompt, model)
