"""Hooks of MkDocs: what stands beside docs/ becomes pages too, and the README says in which order they are read."""

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
"""Tab and folder; every page of a folder is in its tab."""
BESIDE = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
"""Files of the repository that are pages, and their names there."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation."""
    tabs: list[dict[str, Any]] = [{"Start": ["index.md", "quickstart.md"]}]
    tabs += [{title: _pages(folder)} for title, folder in SECTIONS.items()]
    config.nav = [*tabs, {"Project": ["security.md", "CHANGELOG.md", "CONTRIBUTING.md"]}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that stand beside docs/."""
    for source, name in BESIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=_as_in_docs(text)))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    """The library that draws diagrams, from where it is installed."""
    library = resources("nicegui") / "elements" / "mermaid" / "dist"
    copytree(str(library), Path(config.site_dir) / "assets" / "mermaid", dirs_exist_ok=True)


def _pages(folder: str) -> list[str]:
    """In the order in which the README first names them, then by name."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = {name: place for place, name in reversed([*enumerate(re.findall(r"\(docs/([^)#]+)", readme))])}
    pages = [f"{folder}/{page.name}" for page in (ROOT / "docs" / folder).glob("*.md")]
    return sorted(pages, key=lambda page: (named.get(page, len(named)), page))


def _as_in_docs(text: str) -> str:
    """Links as they are from the folder docs/."""
    text = text.replace("](docs/", "](")
    return text.replace("](LICENSE)", "](CONTRIBUTING.md)")
