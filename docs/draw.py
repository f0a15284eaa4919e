"""Draws docs/images/strategies.svg from windows that the code builds: `python docs/draw.py`."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from purser.context.conversation.messages import Message
from purser.context.memories import VectorMemory
from purser.context.retrieval import memory_message
from purser.context.strategies import WINDOW_PRESETS, StrategyName
from purser.context.tokens import count_message, count_request, count_text
from purser.context.windows import Window, build_window

FIGURE = Path(__file__).parent / "images" / "strategies.svg"
CHAT = Path(__file__).parent / "examples" / "chat.jsonl"
MODEL = "gpt-4o"
SHARE = 0.4
"""Share of the conversation's tokens that every window may take."""
LEFT, WIDTH, ROW, TOP, RIGHT = 150, 640, 26, 84, 190
"""Sizes in pixels: names, conversation, one row, title and legend, figures."""
FONT = 'font-family="sans-serif" font-size="12"'
COLORS = {"verbatim": "#2563eb", "summary": "#f0b429", "memory": "#7c3aed", "dropped": "#e5e7eb"}
MEANINGS = {
    "verbatim": "verbatim",
    "summary": "covered by the summary",
    "memory": "dropped or covered, retrieved by memory",
    "dropped": "dropped",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the figure."""

    name: str
    window: Window
    found: frozenset[int] = frozenset()
    """Indexes of messages that memory retrieved."""

    def state(self, index: int) -> str:
        """How the window shows a message: a key of `COLORS`."""
        if index in self.window.indexes:
            return "verbatim"
        if index in self.found:
            return "memory"
        return "summary" if any(first <= index <= last for first, last in self.window.summarised) else "dropped"


def conversation() -> list[Message]:
    """A made-up conversation with tool calls and a pin."""
    return [Message.parse(json.loads(line)) for line in CHAT.read_text(encoding="utf-8").splitlines()]


def rows(messages: Sequence[Message], budget: int) -> Iterator[Row]:
    """Build a window with every strategy and preset, all with the same budget."""
    memory = VectorMemory()
    for message in messages:
        memory.add_message(message)
    for strategy in StrategyName:
        window = build_window(messages, budget=budget, model=MODEL, strategy=strategy)
        if strategy is StrategyName.HYBRID:
            shown = [index for index in window.indexes if index is not None]
            found = memory.retrieve(messages[-1].text, 4, exclude=shown)
            retrieved = memory_message(found, (), budget // 6, lambda text: count_text(text, MODEL).tokens)
            window = build_window(messages, budget=budget, model=MODEL, strategy=strategy, memory=retrieved)
            yield Row(strategy, window, frozenset(one.seq for one in found))
        else:
            name = f"auto: {window.strategy}" if strategy is StrategyName.AUTO else strategy
            yield Row(name, window)
    for preset in WINDOW_PRESETS:
        yield Row(f"preset {preset}", build_window(messages, budget=budget, model=MODEL, preset=preset))


def draw() -> str:
    """Draw the figure as SVG."""
    messages = conversation()
    counts = [count_message(message.to_openai(), MODEL).tokens for message in messages]
    whole = count_request([message.to_openai() for message in messages], [], MODEL).tokens
    budget = int(whole * SHARE)
    drawn = list(rows(messages, budget))
    width, height = LEFT + WIDTH + RIGHT, TOP + ROW * len(drawn) + 12
    title = f"{len(messages)} messages of {whole:,} tokens, cut to {budget:,}; the oldest on the left, width is tokens"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="14">{title}</text>',
        *_legend(),
    ]
    for place, row in enumerate(drawn):
        parts += _row(row, TOP + place * ROW, messages, counts)
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> Iterator[str]:
    x = 12
    for state, meaning in MEANINGS.items():
        yield f'<rect x="{x}" y="40" width="12" height="12" fill="{COLORS[state]}"/>'
        yield f'<text x="{x + 18}" y="51">{meaning}</text>'
        x += 40 + 7 * len(meaning)
    yield f'<text x="{x}" y="51">red line: pinned</text>'
    yield f'<text x="{LEFT + WIDTH + 12}" y="{TOP - 8}" fill="#6b7280">tokens: verbatim + summary</text>'


def _row(row: Row, y: int, messages: Sequence[Message], counts: Sequence[int]) -> Iterator[str]:
    scale, starts = WIDTH / sum(counts), [0, *accumulate(counts)]
    yield f'<text x="12" y="{y + 14}">{row.name}</text>'
    for index, tokens in enumerate(counts):
        x, wide = LEFT + starts[index] * scale, max(0.6, tokens * scale - 0.6)
        yield f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="18" fill="{COLORS[row.state(index)]}"/>'
        if messages[index].pinned:
            yield f'<rect x="{x:.1f}" y="{y + 19}" width="{wide:.1f}" height="2" fill="#dc2626"/>'
    verbatim = sum(counts[index] for index in row.window.indexes if index is not None)
    added = row.window.tokens - verbatim - 3
    figures = f"{verbatim:,} + {added:,}" if added else f"{verbatim:,}"
    yield f'<text x="{LEFT + WIDTH + 12}" y="{y + 14}">{figures}</text>'


if __name__ == "__main__":
    FIGURE.parent.mkdir(exist_ok=True)
    FIGURE.write_text(draw(), encoding="utf-8")
