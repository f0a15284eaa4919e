"""`purser window`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from purser.compose.cli.context.redact import configured_redactor
from purser.compose.cli.context.summarizing import SummarizerOption, origin, summarizing
from purser.compose.cli.context.tokens import FileArgument, ModelOption
from purser.compose.cli.output import DataOption, JsonOption, out, print_answer
from purser.compose.cli.tables import print_table, table
from purser.context.strategies import WINDOW_PRESETS, Preset, StrategyName, StrategySettings
from purser.context.strategies.choice import Preference
from purser.context.strategies.settings import with_figures
from purser.wire.enums import Format, Summarizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from purser.context.conversation.messages import Message
    from purser.context.windows import Window
    from purser.context.windows.builder import Summarize

_SHOWN = 100
"""Characters of a message that are printed."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(window)


def window(
    file: FileArgument,
    model: ModelOption,
    budget: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of the whole window. Default for text: the setting for routers."),
    ] = None,
    strategy: Annotated[StrategyName | None, typer.Option(help="Default: three_part, or the preset's.")] = None,
    preset: Annotated[Preset | None, typer.Option(help="Parameters of a known system.")] = None,
    preference: Annotated[Preference, typer.Option(help="What `auto` optimizes for.")] = Preference.BALANCED,
    summarizer: SummarizerOption = Summarizer.EXTRACTIVE,
    written: Annotated[
        Format, typer.Option("--format", help="Messages for agents, or plain text for routers.")
    ] = Format.MESSAGES,
    recommend: Annotated[bool, typer.Option("--recommend", help="Only recommend what to do.")] = False,
    tools: Annotated[int | None, typer.Option(min=0, help="Check whether this many tool calls still fit.")] = None,
    figures: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A figure of `context` in a task file, such as rounds=5."),
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Newest rounds of sliding_window.")] = None,
    recents_count: Annotated[int | None, typer.Option(min=0, help="Last messages that stay verbatim.")] = None,
    order: Annotated[str | None, typer.Option(help="Parts of the window in their order, with commas.")] = None,
    summary_max_tokens: Annotated[int | None, typer.Option(min=1, help="Most tokens of a summary.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which part of a conversation a model sees within a budget, and what happens to the rest."""
    from purser.context.windows import build_window

    redact = configured_redactor().redact
    messages, originals = _read(file)
    options = {"rounds": rounds, "recents_count": recents_count, "order": order}
    parameters = _parameters(preset, figures or (), {**options, "summary_max_tokens": summary_max_tokens})
    budget = budget or _router_budget(written)
    with summarizing(summarizer, redact, data) as summarize:

        def build(tokens: int) -> "Window":
            return build_window(
                messages, budget=tokens, model=model, strategy=strategy, preset=preset, preference=preference,
                settings=parameters, summarize=summarize, redact=redact,
            )  # fmt: skip

        document = _safety(messages, budget, tools, model) if tools is not None else {}
        if recommend:
            document = _advice(messages, budget, preference, model, can_summarize=summarize is not None) | document
        elif written is Format.TEXT:
            document = _as_text(build, originals, budget, model, summarize) | document
        else:
            document = _as_messages(build(budget), originals, summarize) | document
    print_answer(document, _print, as_json=as_json)


def _parameters(preset: Preset | None, figures: "Iterable[str]", options: "Mapping[str, object]") -> "StrategySettings":
    """Parameters of the preset with the figures of the options."""
    from purser.context.errors import InvalidSettings
    from purser.context.figures import Figures

    given = dict(options)
    for figure in figures:
        name, separator, value = figure.partition("=")
        if not separator:
            raise InvalidSettings(f"--set {figure[:80]!r} is not valid: use NAME=VALUE")
        given[name] = value
    published = WINDOW_PRESETS[preset].settings if preset else StrategySettings()
    return with_figures(published, Figures.read(given).given)


def _router_budget(written: Format) -> int:
    """The budget of a window as text if none is named."""
    from purser.compose.settings import load_settings

    if written is not Format.TEXT:
        raise typer.BadParameter("name the tokens of the window", param_hint="--budget")
    return load_settings().router_history_token_budget


def _read(file: Path) -> "tuple[list[Message], list[dict[str, Any]]]":
    from purser.compose.cli.context.conversation_file import read_file
    from purser.compose.errors import UnreadableFile

    read = read_file(file)
    if isinstance(read, str):
        raise UnreadableFile(f"{str(file)!r} is plain text", remedy="Name a .json or .jsonl file of chat messages.")
    return read.messages, read.originals


def _as_messages(found: "Window", originals: list[dict[str, Any]], summarize: "Summarize | None") -> dict[str, Any]:
    """The document of a window; its messages are those of the file, except where it changes them."""
    from dataclasses import asdict

    shown = []
    for message, index in zip(found.messages, found.indexes, strict=True):
        original = {} if index is None else originals[index]
        if index is None or index in found.changed:
            # A result that does not follow its call is no tool message any more.
            original = {name: value for name, value in original.items() if name != "tool_call_id"} | message.to_dict()
        shown.append(original)
    return {
        "messages": shown,
        "tokens": found.tokens,
        "dropped": [{"index": index, "reason": reason} for index, reason in found.dropped],
        "summarised": found.summarised,
        "strategy": found.strategy,
        "reason": found.reason,
        **origin(found.summary, summarize),
        "stats": asdict(found.stats),
    }


def _as_text(
    build: "Callable[[int], Window]",
    originals: list[dict[str, Any]],
    budget: int,
    model: str,
    summarize: "Summarize | None",
) -> dict[str, Any]:
    """The document of a window whose plain text fits the budget: text needs other delimiters than messages do."""
    from purser.context.conversation.renderings import render_text
    from purser.context.tokens import count_text

    tokens, room = budget + 1, budget
    while tokens > budget:
        found = build(room)
        history = [message for message, index in zip(found.messages, found.indexes, strict=True) if index is not None]
        text = render_text(
            history, summary=found.summary, summarised=found.stats.messages_removed, most_tokens=2 * budget, model=model
        )
        tokens = count_text(text, model).tokens
        room -= max(1, tokens - budget)
    return {"text": text} | _as_messages(found, originals, summarize) | {"tokens": tokens}


def _safety(messages: "list[Message]", budget: int, tools: int, model: str) -> dict[str, Any]:
    from dataclasses import asdict

    from purser.context.windows.advice import tool_safety

    return {"tool_safety": asdict(tool_safety(messages, budget, tools, model=model))}


def _advice(
    messages: "list[Message]", budget: int, preference: Preference, model: str, *, can_summarize: bool
) -> dict[str, Any]:
    from dataclasses import asdict

    from purser.context.windows.advice import recommend

    advice = recommend(messages, budget, preference=preference, can_summarize=can_summarize, reserve=0, model=model)
    return asdict(advice)


def _print(document: dict[str, Any]) -> None:
    """Print the text or the messages of a window, then its figures."""
    if "text" in document:
        out.print(document["text"], markup=False)
    elif "messages" in document:
        rows = [(message["role"], escape(_line(message.get("content")))) for message in document["messages"]]
        print_table(table("role", "content", rows=rows))
    hidden = ("text", "messages", "stats")
    found = document | document.get("stats", {})
    figures = {name: value for name, value in found.items() if name not in hidden and value is not None}
    if "dropped" in figures:
        figures["dropped"] = len(figures["dropped"])
    print_table(table("", "", rows=[(name.replace("_", " "), escape(str(value))) for name, value in figures.items()]))


def _line(content: Any) -> str:
    """The beginning of a message on one line."""
    text = " ".join((content if isinstance(content, str) else str(content or "")).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
