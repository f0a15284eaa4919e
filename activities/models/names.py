"""Names of models: what may be one, checked before anything is stored or sent."""

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+,~=*()\[\]-]*")
"""Parts of a name end up in request lines: nothing in it may start a query, a fragment or an escape."""


def check_model_name(name: str) -> str:
    """Returns the name of a model.

    Raises:
        ValueError: it is an address, or could be taken for a part of one. The message says how to mend it.
    """
    if "//" in name or name.lower().startswith(("http:", "https:")):
        raise ValueError("a model name holds no address: name the model, and put its address into api_base")
    if not _NAME.fullmatch(name) or {"", ".", ".."} & set(name.split("/")):
        raise ValueError("use a name such as openai/gpt-4o-mini: letters, digits and . _ : / @ + , ~ = * ( ) [ ] -")
    return name
