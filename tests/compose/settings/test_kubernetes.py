"""Variables that Kubernetes injects into pods for a Service named `purser`."""

import pytest

from purser.compose.errors import SettingsError
from purser.compose.settings import load_settings

INJECTED = {
    "PURSER_SERVICE_HOST": "10.0.0.7",
    "PURSER_SERVICE_PORT": "8787",
    "PURSER_SERVICE_PORT_HTTP": "8787",
    "PURSER_PORT": "tcp://10.0.0.7:8787",
    "PURSER_PORT_8787_TCP": "tcp://10.0.0.7:8787",
    "PURSER_PORT_8787_TCP_PROTO": "tcp",
    "PURSER_PORT_8787_TCP_PORT": "8787",
    "PURSER_PORT_8787_TCP_ADDR": "10.0.0.7",
}


def test_a_service_named_purser_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load_settings()
    for name, value in INJECTED.items():
        monkeypatch.setenv(name, value)
    assert load_settings() == plain


@pytest.mark.parametrize(
    "name", ["PURSER_PORTS", "PURSER_PORT_TCP", "PURSER_PORT_8787", "PURSER_SERVICE", "PURSER_SERVICE_HOSTS"]
)
def test_a_name_that_is_only_alike_is_still_unknown(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable, value in {**INJECTED, name: "1"}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError, match=f"'{name}'"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("PURSER_PORT", "9000", "PURSER_GATEWAY_PORT"),
        ("PURSER_SERVICE_HOST", "0.0.0.0", ""),
        ("PURSER_SERVICE_PORT", "9000", ""),
        ("PURSER_PORT_8787_TCP_PORT", "9000", ""),
    ],
)
def test_a_name_that_kubernetes_uses_is_unknown_where_kubernetes_set_none(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, hint: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"'{name}'") as refused:
        load_settings()
    assert hint in refused.value.remedy
