"""`purser sessions`."""

import httpx

from tests.compose.conftest import System
from tests.support.servers.clients import PATIENCE_S
from tests.support.servers.commands import Commands


def test_the_sessions_of_a_user_are_listed_and_deleted(system: System, purser: Commands, name: str) -> None:
    ids = [f"{name}-{number}" for number in range(3)]
    headers = {"Authorization": f"Bearer {system.ready['admin_key']}"}
    with httpx.Client(base_url=system.ready["gateway"], headers=headers, timeout=PATIENCE_S) as client:
        for session_id in ids:
            body = {"messages": [{"role": "user", "content": "hello"}], "user_id": name}
            client.post(f"/v1/sessions/{session_id}/messages", json=body).raise_for_status()
    listed = purser.json("sessions", "list", "--user", name, "--all")["items"]
    assert [one["session_id"] for one in listed] == ids[::-1]
    assert ids[0] in purser.run("sessions", "list", "--user", name).stdout
    assert purser.json("sessions", "delete", ids[0])["messages"] == 1
    assert purser.json("sessions", "delete", f"{name}-none", code=1)["status"] == 404
    several = purser.run("sessions", "delete", ids[1], f"{name}-none", ids[2])
    assert several.returncode == 1
    assert [line.split(",")[0].split(":")[0] for line in several.stdout.splitlines()] == [
        f"{ids[1]} is deleted",
        f"{name}-none was not deleted",
        f"{ids[2]} is deleted",
    ]
    assert purser.json("sessions", "list", "--user", name)["items"] == []
