"""Draws docs/images/turn.svg and docs/images/approval.svg: `python docs/draw_flows.py`.

A figure is a list of lanes and of steps between them; names of verdicts, choices and states come from the code.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).parent.parent))

from purser.budget.approvals import ApprovalState, Choice
from purser.budget.gate import Verdict
from purser.budget.policies.fields import ApprovalRules

IMAGES = Path(__file__).parent / "images"
WIDTH, TOP, ROW, EDGE = 920, 92, 40, 14
"""Sizes in pixels: the figure, title and lanes, one step, the margin."""
INK, FAINT, LINE = "#111827", "#6b7280", "#d1d5db"
COLORS = {"plain": "#2563eb", "good": "#15803d", "slow": "#b45309", "bad": "#b91c1c", "person": "#7c3aed"}
DEADLINE_MIN = ApprovalRules().deadline_s // 60


@dataclass(frozen=True, slots=True)
class Step:
    """An arrow from one lane to another, or a box if start and end are the same lane."""

    start: int
    end: int
    text: str
    color: str = "plain"
    reach: int = 0
    """Number of further lanes that a box covers."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One figure."""

    name: str
    title: str
    lanes: Sequence[tuple[str, str]]
    """Name and description of each lane."""
    steps: Sequence[Step]


TURN = Flow(
    "turn",
    "One turn of an agent: hold, call, settle",
    (("workflow", "durable, ids only"), ("activities", "side effects"), ("ledger", "Postgres"), ("model", "provider")),
    (
        Step(0, 1, "admit: count and estimate"),
        Step(1, 2, "hold on every scope, or on none"),
        Step(2, 1, "balances, read under lock"),
        Step(1, 0, "verdict of the strictest scope"),
        Step(0, 0, f"{Verdict.ALLOW}, {Verdict.WARN}: sleep for the backpressure delay", "good", 1),
        Step(0, 0, f"{Verdict.WAIT}: request again when open holds have settled", "slow", 1),
        Step(0, 0, f"{Verdict.ASK}: park until a person has decided, then admit again", "person", 1),
        Step(0, 0, f"{Verdict.REFUSE}: end, with scope, figures and remedy", "bad", 1),
        Step(0, 1, "call the model"),
        Step(1, 2, "attempt n starts"),
        Step(1, 3, "prompt, cut to the window, with the held output cap"),
        Step(3, 1, "reply and usage"),
        Step(1, 2, "one transaction: reply, charge, settlement"),
        Step(1, 0, "ids and figures"),
    ),
)
APPROVAL = Flow(
    "approval",
    "How an approval works",
    (
        ("task", "Temporal"),
        ("ledger", "Postgres"),
        ("interfaces", "dashboard, command, HTTP, Temporal"),
        ("person", "on call"),
    ),
    (
        Step(0, 1, "admit: does not fit"),
        Step(1, 1, f"{Verdict.ASK}: one request for all calls that are short here", "plain", 1),
        Step(0, 0, "parked: nothing held", "person"),
        Step(1, 2, "event: pages, webhooks"),
        Step(2, 3, "who, why, spent, forecast", "person"),
        Step(3, 2, f"{Choice.APPROVE} an amount, or {Choice.DENY}", "person"),
        Step(2, 1, "decision with an id"),
        Step(1, 1, "one transaction: decision, grant, message", "good", 1),
        Step(1, 0, "signal, until it arrives"),
        Step(0, 1, "admit again: the gate decides"),
        Step(
            1, 1,
            f"no decision in {DEADLINE_MIN} min: {ApprovalState.EXPIRED} · fits meanwhile: {ApprovalState.WITHDRAWN}",
            "slow", 1,
        ),
    ),
)  # fmt: skip
FLOWS = (TURN, APPROVAL)


def draw(flow: Flow) -> str:
    """Draw a figure as SVG. Its own background keeps it readable on light and dark pages."""
    height = TOP + ROW * len(flow.steps) + EDGE
    places = [round(WIDTH * (2 * lane + 1) / (2 * len(flow.lanes))) for lane in range(len(flow.lanes))]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="13"><title>{escape(flow.title)}</title>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="{EDGE}" y="26" font-size="16" fill="{INK}">{escape(flow.title)}</text>',
    ]
    for x, (name, what) in zip(places, flow.lanes, strict=True):
        parts += [
            f'<text x="{x}" y="56" text-anchor="middle" font-weight="bold" fill="{INK}">{escape(name)}</text>',
            f'<text x="{x}" y="73" text-anchor="middle" font-size="12" fill="{FAINT}">{escape(what)}</text>',
            f'<line x1="{x}" y1="82" x2="{x}" y2="{height - EDGE}" stroke="{LINE}" stroke-dasharray="4 4"/>',
        ]
    for number, step in enumerate(flow.steps):
        parts += _step(step, places, TOP + number * ROW)
    return "\n".join([*parts, "</svg>", ""])


def _step(step: Step, places: Sequence[int], y: int) -> Iterator[str]:
    return _box(step, places, y) if step.start == step.end else _arrow(step, places, y)


def _arrow(step: Step, places: Sequence[int], y: int) -> Iterator[str]:
    begin, end, color = places[step.start], places[step.end], COLORS[step.color]
    back = 8 if begin < end else -8
    line, text = y + 26, escape(step.text)
    yield f'<text x="{(begin + end) / 2:.0f}" y="{y + 18}" text-anchor="middle" fill="{INK}">{text}</text>'
    yield f'<line x1="{begin}" y1="{line}" x2="{end - back}" y2="{line}" stroke="{color}" stroke-width="2"/>'
    yield f'<path d="M{end} {line} l{-back} -5 v10 z" fill="{color}"/>'


def _box(step: Step, places: Sequence[int], y: int) -> Iterator[str]:
    half = (places[1] - places[0]) // 2 - 12
    left, right, color = places[step.start] - half, places[step.start + step.reach] + half, COLORS[step.color]
    place = f'x="{left}" y="{y + 4}" width="{right - left}" height="28" rx="6"'
    yield f'<rect {place} fill="#ffffff" stroke="{color}" stroke-width="2"/>'
    middle, text = (left + right) / 2, escape(step.text)
    yield f'<text x="{middle:.0f}" y="{y + 23}" text-anchor="middle" fill="{INK}">{text}</text>'


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for flow in FLOWS:
        (IMAGES / f"{flow.name}.svg").write_text(draw(flow), encoding="utf-8")
