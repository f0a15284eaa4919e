"""The page about backups names programs that can read the database."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.support.databases import TOOLS, dump

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


def test_a_database_of_the_containers_is_replaced_by_its_dump(dsn: str, tmp_path: Path) -> None:
    [make] = re.findall(r" exec -T postgres (pg_dump.* \$name > \$name\.dump)$", PAGE, re.MULTILINE)
    [restore] = re.findall(r" exec -T postgres (pg_restore.*) \\\n +(.* < \$name\.dump)$", PAGE, re.MULTILINE)
    parts = urlsplit(dsn)
    server = {"PGHOST": parse_qs(parts.query)["host"][0], "name": parts.path.removeprefix("/")}
    before = dump(dsn)

    def run(command: str) -> None:
        environment = {**os.environ, **server, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-ec", command], env=environment, cwd=tmp_path, check=True)

    run(make)
    run('psql -qU postgres -d "$name" -c "create table later (x int)"')
    assert dump(dsn) != before
    run(" ".join(restore))
    assert dump(dsn) == before
