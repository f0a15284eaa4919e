"""Named SQL statements from files: `-- name: hold` starts the statement `hold`."""

import re
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)


@cache
def load(package: str, file: str) -> dict[str, str]:
    """Returns the statements of `file` in `package` by name."""
    parts = _NAME.split(resources.files(package).joinpath(file).read_text("utf-8"))
    return {name: body.strip().rstrip(";") for name, body in zip(parts[1::2], parts[2::2], strict=True)}
