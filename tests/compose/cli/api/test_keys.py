"""`purser keys`."""

from pathlib import Path

from tests.compose.conftest import System
from tests.support.servers.commands import Commands


def test_a_key_works_until_it_is_revoked(system: System, name: str, tmp_path: Path) -> None:
    purser = system.purser
    made = purser.json("keys", "create", name, "--role", "viewer")
    assert (made["name"], made["role"], made["revoked_at"]) == (name, "viewer", None)
    viewer = Commands.at(tmp_path, url=system.ready["gateway"], api_key=made["key"])
    assert viewer.json("budget", "show", "session:s1")["scope"] == "session:s1"
    assert viewer.json("budget", "set", "session:s1", "--frozen", code=1)["status"] == 403
    assert made["key"] not in purser.run("keys", "list").stdout
    assert name in purser.run("keys", "list").stdout
    assert purser.json("keys", "revoke", made["key_id"])["revoked_at"]
    refused = viewer.json("budget", "show", "session:s1", code=1)
    assert refused["status"] == 401
    assert "the key that came with the request is not live" in refused["detail"]
    assert "PURSER_API_KEY" in refused["remedy"]
    assert "Authorization" not in str(refused)


def test_a_key_gets_another_role_and_end(purser: Commands, name: str) -> None:
    key_id = purser.json("keys", "create", name, "--role", "viewer", "--expires", "1d")["key_id"]
    assert purser.json("keys", "change", key_id, "--role", "approver")["expires_at"]
    changed = purser.json("keys", "change", key_id, "--never-expires")
    assert (changed["role"], changed["expires_at"]) == ("approver", None)
    assert f"{name}: approver, live until " in purser.run("keys", "change", key_id, "--expires", "30d").stdout
    assert "nothing to change" in purser.json("keys", "change", key_id, code=2)["detail"]
    both = purser.json("keys", "change", key_id, "--expires", "30d", "--never-expires", code=2)
    assert "name one" in both["detail"]


def test_an_address_that_redirects_is_no_gateway(system: System, tmp_path: Path) -> None:
    """As a page of the dashboard does, or a proxy that leads from http to https."""
    elsewhere = Commands.at(tmp_path, url=f"{system.ready['gateway']}/overview", api_key="k")
    refused = elsewhere.json("budget", "show", "session:s1", code=1)
    assert "is not the address of a gateway" in refused["detail"]
    assert "PURSER_URL" in refused["remedy"]
    findings = {one["name"]: one for one in elsewhere.json("doctor", code=1)["findings"]}
    assert findings["gateway"]["state"] == "failed"


def test_the_first_key_of_a_tenant_is_made_in_the_database(system: System, name: str, tmp_path: Path) -> None:
    alone = Commands.at(tmp_path, dsn=system.ready["postgres"], url=system.ready["gateway"])
    made = alone.json("keys", "create", "root", "--role", "admin", "--tenant", name)
    admin = Commands.at(tmp_path, url=system.ready["gateway"], api_key=made["key"])
    assert [key["name"] for key in admin.json("keys", "list")["items"]] == ["root"]
    assert alone.json("keys", "create", "root", "--role", "admin", "--tenant", name, code=1)["detail"]
    assert alone.json("keys", "create", f"deft-{name}", "--role", "agent")["name"] == f"deft-{name}"


def test_people_see_the_secret_once(purser: Commands, name: str) -> None:
    shown = purser.run("keys", "create", name, "--role", "agent")
    assert "purser_" in shown.stdout
    assert "this once" in shown.stdout


def test_bad_usage_and_unknown_keys(purser: Commands, name: str) -> None:
    assert purser.json("keys", "create", name, code=2)["type"] == "urn:purser:bad-usage"
    assert purser.json("keys", "create", name, "--role", "root", code=2)["type"] == "urn:purser:bad-usage"
    assert purser.json("keys", "create", "a b", "--role", "agent", code=1)["status"] == 422
    assert purser.json("keys", "revoke", "nobody", code=1)["status"] == 404
