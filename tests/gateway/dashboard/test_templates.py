"""HTML is in templates only, and templates trust no value."""

import ast
import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from purser.gateway import dashboard
from purser.gateway.dashboard.components import TEMPLATES, component, render

DASHBOARD = Path(dashboard.__file__).parent
HTML = re.compile(r"</?[a-zA-Z][\w-]*[\s/>]|</?[a-zA-Z][\w-]*$")
MODULES = sorted(DASHBOARD.rglob("*.py"))
PAGES = sorted(TEMPLATES.rglob("*.html"))


def literals(tree: ast.Module) -> list[str]:
    """String literals of a module without docstrings, f-strings in parts."""
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(DASHBOARD)))
def test_no_html_is_in_python(module: Path) -> None:
    found = [text for text in literals(ast.parse(module.read_text())) if HTML.search(text)]
    assert found == []


@pytest.mark.parametrize("template", PAGES, ids=lambda path: str(path.relative_to(TEMPLATES)))
def test_a_template_trusts_no_value_and_is_used(template: Path) -> None:
    name = str(template.relative_to(TEMPLATES))
    assert not re.search(r"\|\s*safe\b|autoescape", template.read_text())
    users = [*MODULES, *PAGES]
    assert any(f'"{name}"' in file.read_text() for file in users if file != template)


def test_only_the_renderer_declares_text_to_be_html() -> None:
    trusted = {module.name for module in MODULES if re.search(r"\bMarkup\([^)]", module.read_text())}
    assert trusted == {"components.py"}


def test_values_are_escaped_in_text_and_in_attributes() -> None:
    hostile = "<b>\" onclick='x'"
    for shown in (component("scope", f"session:{hostile}"), component("button", hostile, hostile, key=hostile)):
        assert "<b>" not in shown
        assert "' onclick" not in shown.replace("&#39;", "")
        assert '" onclick' not in shown


def test_a_missing_value_of_a_template_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="pages"):
        render("navigation.html", current="Tasks", pending=None)


def test_a_line_break_between_tags_is_removed_and_one_in_a_text_is_not() -> None:
    assert "><" in component("empty", "None", "one\ntwo")
    assert "one\ntwo" in component("empty", "None", "one\ntwo")
