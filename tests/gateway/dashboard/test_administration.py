"""The pages of keys, webhooks and changes: who may use them, what they do, and what they look like."""

import re

import pytest
from playwright.async_api import expect

from purser.gateway.access.roles import Role
from tests.gateway.conftest import RunningGateway
from tests.gateway.dashboard.acting import act, open_page, until_shown
from tests.gateway.dashboard.conftest import TARGET, Tenant
from tests.support.servers.browser import NARROW, check_accessibility, in_both_themes, shot


@pytest.mark.parametrize("path", ["/keys", "/webhooks"])
async def test_a_role_that_may_not_manage_them_sees_nothing_of_them(gateway: RunningGateway, path: str) -> None:
    page = await open_page(gateway, path, Role.APPROVER, "anna")
    assert f"Your role may not manage {path[1:]}" in page.html
    assert 'data-act="create"' not in page.html
    assert f'href="{path}"' not in page.html
    assert 'href="/changes"' in page.html


async def test_a_key_is_created_and_its_secret_shown_once(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/keys")
    await act(
        page,
        "create",
        {"name": "search", "role": "agent", "rate_limit_per_s": "5", "tags": "team=x", "path": "session:s1"},
    )
    found = re.search(r"<code>(purser_[\w-]+)</code>", await until_shown(page, "not shown again"))
    assert found is not None
    assert (await (await gateway.with_secret(found[1])).get("/v1/holds/1")).status_code == 404, "it works"
    admin = await gateway.with_secret(page.key)
    listed = {key["name"]: key for key in (await admin.get("/v1/keys")).json()["items"]}
    made = listed["search"]
    assert (made["role"], made["rate_limit_per_s"], made["tags"]) == ("agent", 5, {"team": "x"})
    assert made["path"] == ["session:s1"]
    again = await page.browser.get("/keys", headers={"accept": "text/html"})
    assert listed["search"]["key_id"] in again.text
    assert "session:s1" in again.text
    assert found[1] not in again.text
    created = (await admin.get("/v1/changes?action=key.create&by=ada")).text
    assert listed["search"]["key_id"] in created


async def test_a_page_of_keys_whose_key_was_revoked_creates_nothing(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/keys")
    admin = await gateway.client(Role.ADMIN, name="other")
    own = next(key for key in (await admin.get("/v1/keys")).json()["items"] if key["name"] == "ada")
    body = {"region": "r2", "name": "create", "data": {}, "fields": {"name": "late", "role": "admin"}}
    assert (await admin.delete(f"/v1/keys/{own['key_id']}")).is_success
    answer = await page.browser.post(f"{page.path}/acts", json=body)
    assert answer.status_code == 401
    assert "late" not in (await admin.get("/v1/keys")).text


async def test_a_name_that_is_taken_is_named_in_the_form(gateway: RunningGateway) -> None:
    page = await open_page(gateway, "/keys")
    await act(page, "create", {"name": "ada", "role": "agent"})
    assert "exists" in await until_shown(page, 'role="alert"')


async def test_a_webhook_is_added_tested_and_removed(gateway: RunningGateway, hook_port: int) -> None:
    page = await open_page(gateway, "/webhooks")
    assert "No webhooks yet" in page.html
    typed = {"url": "https://evil.example/x", "kind:approval": "on"}
    await act(page, "create", typed)
    assert "not an allowed webhook target" in await until_shown(page, 'role="alert"')
    await act(page, "create", typed | {"url": f"http://127.0.0.1:{hook_port}/hooks/1"})
    assert "whsec_" in await until_shown(page, "not shown again")
    admin = await gateway.with_secret(page.key)
    (hook,) = (await admin.get("/v1/webhooks")).json()["items"]
    assert (hook["kinds"], hook["enabled"]) == (["approval"], True)
    page = await open_page(gateway, f"/webhooks?id={hook['webhook_id']}", name="bea")
    assert "whsec_" not in page.html
    await act(page, "test", id=hook["webhook_id"])
    assert "Send again" in await until_shown(page, 'data-act="again"')
    await act(page, "disable", id=hook["webhook_id"])
    assert not (await admin.get(f"/v1/webhooks/{hook['webhook_id']}")).json()["enabled"]
    await act(page, "rotate", id=hook["webhook_id"])
    assert "whsec_" not in await until_shown(page, "Yes, make a new secret")
    part = re.findall(r'data-part="(r\d+)"', page.html[: page.html.index('data-act="rotate"')])[-1]
    await act(page, "confirm", part=part)
    assert re.search(r"<code>whsec_[\w+/=]+</code>", await until_shown(page, "the previous one signs too for a day"))
    assert (await admin.get(f"/v1/webhooks/{hook['webhook_id']}")).json()["previous_secret_until"]
    await act(page, "remove", id=hook["webhook_id"])
    assert (await admin.get("/v1/webhooks")).json()["items"], "it is not removed without a confirmation"
    part = re.findall(r'data-part="(r\d+)"', page.html[: page.html.index('data-act="remove"')])[-1]
    await act(page, "confirm", part=part)
    assert (await admin.get("/v1/webhooks")).json()["items"] == []


async def test_the_pages_in_a_browser(tenant: Tenant) -> None:
    page = await tenant.page("/keys")
    await page.get_by_label("Name of its holder").fill("search-backend")
    await page.get_by_role("button", name="Create key").click()
    await expect(page.locator(".secret code")).to_contain_text("purser_")
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("button", name="Copy the secret").click()
    await expect(page.locator(".toast")).to_contain_text("Copied.")
    secret = await page.locator(".secret code").inner_text()
    assert await page.evaluate("navigator.clipboard.readText()") == secret
    await in_both_themes(page, "keys")
    await page.get_by_role("button", name="I have stored it").click()
    await page.get_by_role("button", name="Revoke the key of search-backend").click()
    await check_accessibility(page)
    await shot(page, "keys-revoke")
    await page.get_by_role("button", name="Yes, revoke it").click()
    await expect(page.get_by_role("row", name=re.compile("search-backend"))).to_contain_text("by ada")
    await page.goto("/changes?action=key.revoke")
    await expect(page.locator(".changes tbody tr")).to_have_count(1)
    await in_both_themes(page, "changes")
    await page.goto("/webhooks")
    await expect(page.locator(".empty")).to_contain_text("No webhooks yet")
    await in_both_themes(page, "webhooks")
    await page.locator("#w-url").fill(f"{TARGET}/1")
    await page.get_by_label("every approval").check()
    await page.get_by_role("button", name="Add webhook").click()
    first = await page.locator(".secret code").inner_text()
    await page.get_by_role("button", name="I have stored it").click()
    await page.get_by_role("button", name=re.compile("New secret of")).click()
    await check_accessibility(page)
    await page.get_by_role("button", name="Yes, make a new secret").click()
    await expect(page.locator(".secret code")).to_contain_text("whsec_")
    await page.get_by_role("button", name="Copy the secret").click()
    second = await page.locator(".secret code").inner_text()
    assert second != first
    await expect(page.locator(".toast").last).to_contain_text("Copied.")
    assert await page.evaluate("navigator.clipboard.readText()") == second
    await page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    await shot(page, "webhooks-narrow", full=True)
