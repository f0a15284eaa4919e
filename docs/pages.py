"""MkDocs hooks: files outside docs/ become pages too, and the README determines the order of pages."""

import re
from importlib.resources import files as resources
from pathlib import Path
from shutil import copytree
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
SECTIONS = {
    "How to": "how-to",
    "Concepts": "concepts",
    "Operations": "operations",
    "Reference": "reference",
}
"""Folder of each tab; every page of a folder is in its tab."""
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
"""Files in the root of the repository that become pages, and the names of the pages."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation."""
    tabs: list[dict[str, Any]] = [{"Start": ["index.md", "quickstart.md"]}]
    tabs += [{title: _pages(folder)} for title, folder in SECTIONS.items()]
    config.nav = [*tabs, {"Project": ["security.md", "CHANGELOG.md", "CONTRIBUTING.md"]}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are outside docs/."""
    for source, name in ROOT_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_as_in_docs(text)))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """Copy the library that draws diagrams from its package."""
    library = resources("nicegui") / "elements" / "mermaid" / "dist"
    copytree(str(library), Path(config.site_dir) / "assets" / "mermaid", dirs_exist_ok=True)


def _pages(folder: str) -> list[str]:
    """Pages of a folder in the order in which the README first names them, then by name."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = {name: place for place, name in reversed([*enumerate(re.findall(r"\(docs/([^)#]+)", readme))])}
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs" / folder).rglob("*.md")]
    return sorted(pages, key=lambda page: (named.get(page, len(named)), page))


def _as_in_docs(text: str) -> str:
    """Rewrite links so that they are relative to the folder docs/."""
    text = text.replace("](docs/", "](")
    return text.replace("](LICENSE)", "](CONTRIBUTING.md)")
