"""Webhook secrets are stored encrypted, with keys that can be rotated."""

import stat
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from purser.budget.postgres.connections.pools import Pool
from purser.compose.processes.secrets_key import own_secrets_key
from purser.compose.settings import Settings
from purser.gateway.access.sealing import Seal, new_key
from purser.gateway.errors import SecretsKeyMissing, SecretUnreadable
from purser.gateway.postgres.webhooks import WebhookFields, Webhooks
from tests.gateway.conftest import running_gateway
from tests.support.actors import TESTER

OLD, NEW = new_key(), new_key()
WARNING = "encrypted with keys that are not configured"
HOOK = WebhookFields(url="http://a/b", kinds=("task",))


async def _stored(pool: Pool) -> list[str]:
    return [text for row in await pool.fetch("select secret, previous_secret from webhooks") for text in row if text]


def test_a_secret_is_encrypted_with_the_first_key_and_read_with_any() -> None:
    encrypted = Seal([OLD]).encrypt("whsec_x")
    assert "whsec_x" not in encrypted
    assert Seal([OLD]).decrypt(encrypted) == Seal([NEW, OLD]).decrypt(encrypted) == "whsec_x"
    with pytest.raises(SecretUnreadable):
        Seal([OLD]).decrypt(Seal([NEW, OLD]).encrypt("whsec_x"))


@pytest.mark.parametrize("keys", [[], [NEW]])
def test_a_secret_cannot_be_read_without_its_key(keys: list[str]) -> None:
    with pytest.raises(SecretUnreadable, match="not configured"):
        Seal(keys).decrypt(Seal([OLD]).encrypt("whsec_x"))


async def test_without_a_key_no_webhook_is_made_and_the_error_says_what_to_set(pool: Pool) -> None:
    with pytest.raises(SecretsKeyMissing, match="PURSER_SECRETS_KEY"):
        await Webhooks(pool, Seal()).create("acme", HOOK, by=TESTER)
    assert await _stored(pool) == []


async def test_no_secret_of_a_webhook_is_stored_in_clear(pool: Pool) -> None:
    hooks = Webhooks(pool, Seal([OLD]))
    made, first = await hooks.create("acme", HOOK, by=TESTER)
    _, second = await hooks.rotate("acme", made.webhook_id, by=TESTER)
    stored = await _stored(pool)
    assert [Seal([OLD]).decrypt(one) for one in stored] == [second, first]
    assert not {first, second} & set(stored)


async def test_a_gateway_that_begins_with_a_new_first_key_encrypts_everything_anew(pool: Pool) -> None:
    made, first = await Webhooks(pool, Seal([OLD])).create("acme", HOOK, by=TESTER)
    _, second = await Webhooks(pool, Seal([OLD])).rotate("acme", made.webhook_id, by=TESTER)
    assert await Webhooks(pool, Seal([NEW, OLD])).renew_secrets() == 0
    renewed = await _stored(pool)
    assert [Seal([NEW]).decrypt(one) for one in renewed] == [second, first]
    assert await Webhooks(pool, Seal([NEW])).renew_secrets() == 0
    assert await _stored(pool) == renewed, "nothing is left to do"


async def test_secrets_of_a_lost_key_are_counted_and_left_alone(pool: Pool) -> None:
    await Webhooks(pool, Seal([OLD])).create("acme", HOOK, by=TESTER)
    before = await _stored(pool)
    assert await Webhooks(pool, Seal([NEW])).renew_secrets() == 1
    assert await _stored(pool) == before


async def test_a_previous_secret_of_a_lost_key_does_not_keep_the_current_one_from_being_encrypted_anew(
    pool: Pool,
) -> None:
    lost = Seal([new_key()]).encrypt("whsec_x")
    await Webhooks(pool, Seal([OLD])).create("acme", HOOK, by=TESTER)
    await pool.execute("update webhooks set previous_secret = $1, previous_until = now() + interval '1 hour'", lost)
    [current, _] = await _stored(pool)
    assert await Webhooks(pool, Seal([NEW, OLD])).renew_secrets() == 0
    [renewed, previous] = await _stored(pool)
    assert Seal([NEW]).decrypt(renewed) == Seal([OLD]).decrypt(current)
    assert previous == lost, "its key may be configured again"


async def test_a_previous_secret_that_signs_no_more_is_removed(pool: Pool) -> None:
    made, _ = await Webhooks(pool, Seal([OLD])).create("acme", HOOK, by=TESTER)
    _, second = await Webhooks(pool, Seal([OLD])).rotate("acme", made.webhook_id, by=TESTER)
    await pool.execute("update webhooks set previous_until = now()")
    assert await Webhooks(pool, Seal([OLD])).renew_secrets() == 0
    [left] = await _stored(pool)
    assert Seal([OLD]).decrypt(left) == second


async def test_a_gateway_encrypts_anew_when_it_starts_and_says_what_it_cannot_read(
    settings: Settings, pool: Pool, capfd: pytest.CaptureFixture[str]
) -> None:
    _, secret = await Webhooks(pool, Seal([OLD])).create("acme", HOOK, by=TESTER)
    async with running_gateway(settings.model_copy(update={"secrets_key": SecretStr(f"{NEW},{OLD}")})):
        [renewed] = await _stored(pool)
    assert Seal([NEW]).decrypt(renewed) == secret
    assert WARNING not in "".join(capfd.readouterr())
    async with running_gateway(settings.model_copy(update={"secrets_key": SecretStr(OLD)})):
        assert await _stored(pool) == [renewed]
    assert WARNING in "".join(capfd.readouterr())


def test_up_makes_one_key_for_its_data_directory_that_only_its_owner_reads(tmp_path: Path) -> None:
    key = own_secrets_key(tmp_path)
    assert own_secrets_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / "secrets.key").stat().st_mode) == 0o600
    assert Settings(secrets_key=key).secrets_keys == (key.get_secret_value(),)


def test_keys_are_comma_separated_in_either_alphabet_and_a_wrong_one_is_not_repeated() -> None:
    plain = NEW.replace("-", "+").replace("_", "/")
    assert Settings(secrets_key=f"{plain}, {OLD}").secrets_keys == (plain, OLD)
    with pytest.raises(ValidationError, match="openssl rand -base64 32") as refused:
        Settings(secrets_key="too-short")
    assert "too-short" not in str(refused.value)
