"""The figure of the strategies shows what the code does."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from xml.etree import ElementTree

DOCS = Path(__file__).parents[2] / "docs"


def test_the_figure_is_current_and_has_a_row_for_each_strategy_and_preset() -> None:
    spec = spec_from_file_location("docs_draw", DOCS / "draw.py")
    assert spec
    assert spec.loader
    draw = module_from_spec(spec)
    spec.loader.exec_module(draw)
    drawn = draw.FIGURE.read_text(encoding="utf-8")
    assert drawn == draw.draw(), "run `python docs/draw.py`"
    told = {text.text for text in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")}
    assert told >= {"sliding_window", "token_truncation", "smart_truncation", "summary", "three_part", "hybrid"}
    assert told >= {f"preset {name}" for name in ("education", "game", "cookhero", "optimizer", "shannon")}
