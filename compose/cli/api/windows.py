"""What a call of a task saw, as text."""

from typing import Any

from rich.markup import escape

from purser.compose.cli.output import out
from purser.compose.cli.tables import print_table, table


def print_window(seen: dict[str, Any]) -> None:
    """Print the parts of a call's window."""
    strategy = f"{seen['strategy']} ({seen['strategy_reason']})" if seen["strategy_reason"] else seen["strategy"]
    out.print(
        f"{seen['agent_id']}, turn {seen['turn']}, {seen['model']}: {seen['prompt_tokens']:,} tokens, "
        f"{seen['tokens_saved']:,} saved by {strategy}, context budget {seen['budget']:,}",
        markup=False,
    )
    rows = [
        (
            part["part"],
            escape(_messages(part)),
            part["state"] + (f", version {part['version']}" if part["version"] else ""),
            part["reason"],
            _tokens(part),
        )
        for part in seen["parts"]
    ]
    print_table(table("part", "messages", "state", "reason", "tokens", rows=rows))


def _messages(part: dict[str, Any]) -> str:
    """Numbers of the messages, and the agent that replied."""
    first, last = part["first_seq"], part["last_seq"]
    numbers = "" if first is None else str(first) if first == last else f"{first} to {last}"
    return f"{numbers} ({part['agent_id']})" if part["agent_id"] else numbers


def _tokens(part: dict[str, Any]) -> str:
    if part["tokens"] is None:
        return ""
    original = part["original_tokens"]
    return f"{part['tokens']:,}" + (f" of {original:,}" if original else "")
