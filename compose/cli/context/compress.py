"""`purser compress`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from purser.compose.cli.context.redact import configured_redactor
from purser.compose.cli.context.summarizing import SummarizerOption, origin, summarizing
from purser.compose.cli.context.tokens import FileArgument, ModelOption
from purser.compose.cli.output import DataOption, JsonOption, out, print_answer
from purser.wire.enums import Summarizer

if TYPE_CHECKING:
    from purser.context.compression.requests import Redact
    from purser.context.conversation.messages import Message
    from purser.context.windows.builder import Summarize


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compress)


def compress(
    file: FileArgument,
    budget: Annotated[int, typer.Option(min=1, help="Tokens of the result: remaining messages and summary.")],
    model: ModelOption,
    summarizer: SummarizerOption = Summarizer.EXTRACTIVE,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Summarize the middle of a conversation, or a text, so that the result fits a budget."""
    from purser.compose.cli.context.conversation_file import read_file

    redact = configured_redactor().redact
    read = read_file(file)
    with summarizing(summarizer, redact, data) as summarize:
        if isinstance(read, str):
            document = _text(read, budget, model, summarize, redact)
        else:
            document = _conversation(read.messages, budget, model, summarize, redact)
    print_answer(document, _print, as_json=as_json)


def _conversation(
    messages: "Sequence[Message]", budget: int, model: str, summarize: "Summarize | None", redact: "Redact"
) -> dict[str, Any]:
    """The summary in a window of the default strategy, and the messages it covers; none if all messages fit."""
    from purser.context.tokens import count_message
    from purser.context.windows import build_window

    window = build_window(messages, budget=budget, model=model, summarize=summarize, redact=redact)
    covered = [messages[index] for first, last in window.summarised for index in range(first, last + 1)]
    placed = zip(window.messages, window.indexes, strict=True)
    shown = [message for message, index in placed if index is None and message.role != "tool"]
    original, summary = (
        sum(count_message(message.to_openai(), model).tokens for message in some) for some in (covered, shown)
    )
    covers = [window.summarised[0][0], window.summarised[-1][1]] if window.summarised else None
    return {
        "summary": window.summary,
        "covers": covers,
        "original_tokens": original,
        "summary_tokens": summary,
        **origin(window.summary, summarize),
    }


def _text(text: str, budget: int, model: str, summarize: "Summarize | None", redact: "Redact") -> dict[str, Any]:
    """The summary of a text; a text that fits is only redacted."""
    from purser.context.compression.requests import Passage, SummarySource
    from purser.context.tokens import count_text

    def count(part: str) -> int:
        return count_text(part, model).tokens

    original, text = count(text), redact(text)
    fits = count(text) <= budget
    summary = text if fits else summarize(SummarySource("", (Passage("", text),)), budget, count) if summarize else ""
    return {
        "summary": summary,
        "covers": [0, 0] if summary else None,
        "original_tokens": original,
        "summary_tokens": count(summary),
        **origin("" if fits else summary, summarize),
    }


def _print(document: dict[str, Any]) -> None:
    if document["covers"] is None:
        out.print("Nothing was summarized.")
        return
    first, last = document["covers"]
    out.print(document["summary"], markup=False)
    out.print(
        f"\n{document['summary_tokens']:,} tokens ({document['method']}) for messages {first} to {last}, "
        f"{document['original_tokens']:,} tokens",
        markup=False,
    )
