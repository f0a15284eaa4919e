"""The manifests for Kubernetes, as far as they can be checked without a cluster."""

from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from purser.compose.processes.readiness import readiness
from purser.compose.settings import Settings
from purser.compose.settings.load import IN_FILE, secrets
from tests.support.servers.deployment import own

FOLDER = Path(__file__).parents[3] / "compose" / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
MANIFESTS: list[dict[str, Any]] = [
    manifest for name in KUSTOMIZATION["resources"] for manifest in yaml.safe_load_all((FOLDER / name).read_text())
]
PODS = {
    manifest["metadata"]["name"]: manifest["spec"]["template"]
    for manifest in MANIFESTS
    if manifest["kind"] in ("Deployment", "Job")
}


def test_the_customization_names_every_file() -> None:
    assert {*KUSTOMIZATION["resources"], "kustomization.yaml"} == {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("version", ["1.30", "1.34"])
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_kubernetes_knows_every_field(manifest: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)


def test_a_field_that_does_not_exist_is_found() -> None:
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(MANIFESTS[0] | {"speck": {}}, "1.34", strict=True)


@pytest.mark.parametrize("name", PODS)
def test_a_pod_is_confined(name: str) -> None:
    spec = PODS[name]["spec"]
    [container] = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == int(own()["gateway"]["user"].partition(":")[0])
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("name", PODS)
def test_no_variable_of_the_service_reaches_a_container(name: str) -> None:
    assert PODS[name]["spec"]["enableServiceLinks"] is False


def test_every_variable_is_a_setting_and_secrets_are_files() -> None:
    [config] = [manifest["data"] for manifest in MANIFESTS if manifest["kind"] == "ConfigMap"]
    for name in config:
        setting = name.removeprefix("PURSER_").lower().removesuffix(IN_FILE.lower())
        assert setting in Settings.model_fields, name
        assert name.endswith(IN_FILE) == (setting in secrets()), name


def test_commands_and_ports_are_those_of_the_compose_file() -> None:
    for name, pod in PODS.items():
        service = own()[name.removeprefix("purser-")]
        [container] = pod["spec"]["containers"]
        assert container["args"] == service["command"]
        assert container["image"] == "purser:0.1.0"


def test_pods_get_longer_to_stop_than_their_processes_take() -> None:
    [config] = [manifest["data"] for manifest in MANIFESTS if manifest["kind"] == "ConfigMap"]
    drain_s, grace_s = int(config["PURSER_DRAIN_S"]), int(config["PURSER_SHUTDOWN_GRACE_S"])
    assert drain_s, "a Service goes on sending requests for a moment"
    assert PODS["purser-gateway"]["spec"]["terminationGracePeriodSeconds"] > drain_s + grace_s + 5
    assert PODS["purser-worker"]["spec"]["terminationGracePeriodSeconds"] > grace_s + 5


def test_the_service_keeps_gateways_that_can_hold_while_temporal_is_away() -> None:
    [container] = PODS["purser-gateway"]["spec"]["containers"]
    asked = httpx.URL(container["readinessProbe"]["httpGet"]["path"])
    checks = readiness("postgresql:///x", None, None)  # type: ignore[arg-type] # nothing is checked
    assert asked.path == "/readyz"
    assert checks.keys() - {*asked.params.get_list("exclude")} == {"postgres", "pool", "schema"}


def test_the_service_leads_a_browser_to_the_gateway_that_keeps_its_page() -> None:
    [service] = [manifest["spec"] for manifest in MANIFESTS if manifest["kind"] == "Service"]
    assert service["sessionAffinity"] == "ClientIP"


def test_selectors_find_their_pods() -> None:
    labels = [pod["metadata"]["labels"] for pod in PODS.values()]
    for manifest in MANIFESTS:
        selector = manifest.get("spec", {}).get("selector") or manifest.get("spec", {}).get("podSelector")
        if selector:
            wanted = selector.get("matchLabels", selector)
            assert any(wanted.items() <= found.items() for found in labels), manifest["metadata"]["name"]
