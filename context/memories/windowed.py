"""Memories that show what a strategy takes of the conversation, each time anew."""

from collections.abc import Callable, Sequence

from purser.budget.pricing.prices import PriceBook
from purser.context.compression.extraction import extract
from purser.context.compression.writing import Writer
from purser.context.conversation.messages import Message
from purser.context.memories.base import ConversationMemory
from purser.context.strategies import StrategyName, StrategySettings
from purser.context.tokens import window_of
from purser.context.windows import build_window
from purser.context.windows.advice import USUAL_MODEL


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
        max_tokens: of what is shown; `None`: what the model takes.
        settings: figures of the strategy.
        summarize: makes a summary of a text; `None`: sentences are picked.
        system_prompt, model: as for every memory.
        """
        super().__init__(system_prompt, model=model)
        self.max_tokens = max_tokens or window_of(model, PriceBook.load().context_window(model))
        self._settings = settings
        self._summarize = summarize

    def window(self) -> Sequence[Message]:
        """What the strategy takes; raises `WindowTooSmall` where what must stay does not fit."""
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
    """The newest rounds; older ones are forgotten."""

    strategy = StrategyName.SLIDING_WINDOW

    def __init__(
        self, k: int = 10, max_tokens: int | None = None, *, system_prompt: str = "", model: str = USUAL_MODEL
    ) -> None:
        """Args:
        k: rounds: user messages with all that follows each.
        max_tokens: of what is shown.
        system_prompt, model: as for every memory.
        """
        super().__init__(max_tokens, StrategySettings(rounds=k, keeps_first_request=False), None, system_prompt, model)


class TokenTruncationMemory(WindowedMemory):
    """The newest messages that fit; older ones are forgotten."""

    strategy = StrategyName.TOKEN_TRUNCATION

    def __init__(self, model: str = "gpt-4", max_tokens: int = 4_096, *, system_prompt: str = "") -> None:
        """Args:
        model: whose tokens are counted.
        max_tokens: of what is shown.
        system_prompt: stays first.
        """
        super().__init__(max_tokens, StrategySettings(keeps_first_request=False), None, system_prompt, model)


class ThreePartMemory(WindowedMemory):
    """Primers, a summary of the middle, and recents."""

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
        max_tokens: of what is shown; whatever fits is shown whole.
        primers, recents: first and last messages that stay verbatim.
        summarize: makes a summary of a text; without it, sentences are picked.
        system_prompt, model: as for every memory.
        """
        settings = StrategySettings(primers_count=primers, recents_count=recents)
        super().__init__(max_tokens, settings, summarize, system_prompt, model)
