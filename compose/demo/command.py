"""How to type the `purser` command in the current shell."""

import os
import shlex
import shutil
import sys
from pathlib import Path


def purser() -> str:
    """`purser` if the shell finds this installation by that name, otherwise the path of its command."""
    own = Path(sys.executable).with_name("purser")
    found = shutil.which("purser")
    if not own.exists() or (found and own.samefile(found)):
        return "purser"
    return shlex.quote(os.path.relpath(own) if own.is_relative_to(Path.cwd()) else str(own))
