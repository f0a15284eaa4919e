"""Figures are current, and match the code."""

import sys
from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

from purser.budget.gate import Verdict
from purser.budget.policies.fields import Mode
from purser.budget.policies.policy import Policy
from purser.context.pitfalls import UsageStatistics, lint
from purser.context.settings import ContextSettings
from purser.context.strategies import STRATEGIES, WINDOW_PRESETS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_figure_is_current_and_has_a_row_for_each_strategy_and_preset() -> None:
    draw = _script("draw")
    drawn = draw.FIGURE.read_text(encoding="utf-8")
    assert drawn == draw.draw(), "run `python docs/draw.py`"
    texts = set(_texts(drawn))
    assert texts >= {name for name, traits in STRATEGIES.items() if not traits.chooses}
    assert texts >= {f"preset {name}" for name in WINDOW_PRESETS}


def test_the_page_of_strategies_has_a_row_for_each_and_says_which_lose_something() -> None:
    page = (DOCS / "concepts" / "strategies.md").read_text(encoding="utf-8")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert rows.keys() >= STRATEGIES.keys()
    lossy = {name for name, traits in STRATEGIES.items() if not (traits.summarizes or traits.chooses)}
    assert {name for name, row in rows.items() if "**lost**" in row} == lossy


def test_the_page_of_strategies_has_a_row_for_each_pitfall() -> None:
    page = (DOCS / "concepts" / "strategies.md").read_text(encoding="utf-8")
    rows = page.split("\n## Pitfalls\n", 1)[1].split("\n## ", 1)[0].splitlines()
    limits = Policy(mode=Mode.HARD, limit_tokens=1, warn_at=(Decimal(80),))
    settings = ContextSettings(trigger_ratio=0.95, primers_count=1, recents_count=50)
    found = lint(settings, {"agent": limits}, UsageStatistics(100, one_message_sessions=90, summaries=50))
    assert [row.split("`")[1] for row in rows if row.startswith("| `")] == [one.code for one in found]


def test_the_flows_are_current() -> None:
    flows = _script("draw_flows")
    for flow in flows.FLOWS:
        assert (flows.IMAGES / f"{flow.name}.svg").read_text(encoding="utf-8") == flows.draw(flow), (
            "run `python docs/draw_flows.py`"
        )


def test_a_turn_shows_what_follows_from_every_verdict() -> None:
    texts = " ".join(_texts((DOCS / "images" / "turn.svg").read_text(encoding="utf-8")))
    assert not [verdict for verdict in Verdict if verdict not in texts]


def _script(name: str) -> ModuleType:
    spec = spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def _texts(drawn: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
