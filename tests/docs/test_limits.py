"""The page of limits is current and complete."""

import inspect
import re
from pathlib import Path

from docs.generate import GENERATED
from docs.limits_page import limits
from purser.compose.settings.limits import Limits

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "limits.md"


def test_the_page_of_limits_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == limits(GENERATED), "run `python docs/generate.py`"


def test_it_has_every_limit_with_its_setting_or_says_that_it_is_fixed() -> None:
    rows = [row for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ") and "---" not in row]
    settings = {match[1] for row in rows if (match := re.match(r"\| `(\w+)` \|", row))}
    assert settings == set(inspect.get_annotations(Limits))
    others = [row for row in rows if not row.startswith(("| `", "| setting |", "| limit |"))]
    assert len(others) > 20
    assert all(row.endswith("| fixed |") for row in others)
