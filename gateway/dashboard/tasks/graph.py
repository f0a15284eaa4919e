"""The dependency graph of a task's agents as SVG: columns from left to right, with lines between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from purser.gateway.dashboard.components import render

WIDTH, HEIGHT, GAP_X, GAP_Y = 148, 34, 56, 14
MOST = 40
"""Maximum number of agents that are drawn; for more the table is clearer."""


@dataclass(frozen=True, slots=True)
class Node:
    """One agent."""

    agent_id: str
    status: str
    depends_on: tuple[str, ...]


def columns(nodes: Sequence[Node]) -> list[list[Node]]:
    """Agents by the length of their longest chain of dependencies."""
    depth: dict[str, int] = {}
    left = list(nodes)
    while left:
        ready = [node for node in left if all(other in depth for other in node.depends_on)] or left
        for node in ready:
            depth[node.agent_id] = 1 + max((depth.get(other, -1) for other in node.depends_on), default=-1)
        left = [node for node in left if node.agent_id not in depth]
    count = 1 + max(depth.values(), default=-1)
    return [[node for node in nodes if depth[node.agent_id] == column] for column in range(count)]


def graph(nodes: Sequence[Node]) -> Markup:
    """The graph; empty if no agent depends on another, or if there are too many agents."""
    if not any(node.depends_on for node in nodes) or len(nodes) > MOST:
        return Markup()
    placed = columns(nodes)
    tallest = max(map(len, placed))
    places = {
        node.agent_id: (x * (WIDTH + GAP_X), _top(len(column), tallest) + y * (HEIGHT + GAP_Y))
        for x, column in enumerate(placed)
        for y, node in enumerate(column)
    }
    return render(
        "tasks/graph.html",
        label=_label(nodes),
        width=len(placed) * (WIDTH + GAP_X) - GAP_X + 4,
        height=tallest * (HEIGHT + GAP_Y) - GAP_Y + 4,
        box_width=WIDTH,
        box_height=HEIGHT,
        lines=[_line(places, other, node.agent_id) for node in nodes for other in node.depends_on if other in places],
        boxes=[(node, *places[node.agent_id]) for node in nodes],
    )


def _top(count: int, tallest: int) -> int:
    return (tallest - count) * (HEIGHT + GAP_Y) // 2


def _line(places: Mapping[str, tuple[int, int]], start: str, end: str) -> str:
    """A curve between two agents as an SVG path."""
    (x1, y1), (x2, y2) = places[start], places[end]
    x1, y1, y2 = x1 + WIDTH, y1 + HEIGHT // 2, y2 + HEIGHT // 2
    bend = (x2 - x1) // 2
    return f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"


def _label(nodes: Sequence[Node]) -> str:
    return "; ".join(
        f"{node.agent_id} ({node.status.replace('_', ' ')})"
        + (f" waits for {', '.join(node.depends_on)}" if node.depends_on else "")
        for node in nodes
    )
