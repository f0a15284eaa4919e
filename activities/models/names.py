"""Validation of model names, before anything is stored or sent."""

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+,~=*()\[\]-]*")
"""Parts of a name become part of request lines, so none may start a query, a fragment or an escape."""


def check_model_name(name: str) -> str:
    """Returns the name of a model unchanged.

    Raises:
        ValueError: the name is an address or could be read as a part of one. The message says how to correct it.
    """
    if "//" in name or name.lower().startswith(("http:", "https:")):
        raise ValueError("a model name contains no address: name the model, and put its address into api_base")
    if not _NAME.fullmatch(name) or {"", ".", ".."} & set(name.split("/")):
        raise ValueError("use a name such as openai/gpt-4o-mini: letters, digits and . _ : / @ + , ~ = * ( ) [ ] -")
    return name
