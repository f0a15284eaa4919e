"""The page about backups names programs that can read the database."""

import re
import subprocess
import sysconfig
from pathlib import Path

from tests.support.databases import TOOLS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations" / "backup.md").read_text(encoding="utf-8")


def test_the_database_of_an_up_is_dumped_with_the_program_of_its_own_version(
    postgres_server: str, tmp_path: Path
) -> None:
    [(folder, options)] = re.findall(
        r"^\.venv/lib/python3\.\*/site-packages/(\S+)/pg_dump (.*) DSN$", PAGE, re.MULTILINE
    )
    tools = Path(sysconfig.get_path("purelib")) / folder
    assert tools.samefile(TOOLS)
    [version] = re.findall(r"Its server is Postgres (\d+)", PAGE)
    shown = subprocess.run([tools / "pg_dump", "--version"], capture_output=True, text=True, check=True).stdout
    assert f" {version}." in shown
    subprocess.run([tools / "pg_dump", *options.split(), postgres_server], check=True, cwd=tmp_path)
    assert (tmp_path / "purser.dump").stat().st_size > 0
    assert (tools / "pg_restore").exists()
