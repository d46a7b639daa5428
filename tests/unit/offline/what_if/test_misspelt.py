"""Misspelt fields of manifests: what kubectl apply would refuse must not silently be another question."""

import time
from typing import Any

import pytest

from pilotage.offline.what_if.misspelt import misspelt
from pilotage.offline.what_if.workloads import Unusable, workload_of

POD: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
TEMPLATE = {"spec": POD}


def made(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    version = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        (made("Deployment", {"replica": 5, "template": TEMPLATE}), ("spec.replica", "replicas")),
        (made("Job", {"paralelism": 5, "template": TEMPLATE}), ("spec.paralelism", "parallelism")),
        (made("Pod", {**POD, "nodeselector": {"a": "b"}}), ("spec.nodeselector", "nodeSelector")),
        (
            made("Deployment", {"template": {"spec": {**POD, "toleration": []}}}),
            ("spec.template.spec.toleration", "tolerations"),
        ),
        (
            made("CronJob", {"jobTemplate": {"spec": {"template": {"spec": {"contaniers": []}}}}}),
            ("spec.jobTemplate.spec.template.spec.contaniers", "containers"),
        ),
        (made("Pod", {"containers": [{"resource": {}}]}), ("spec.containers[0].resource", "resources")),
        (
            made("Pod", {"containers": [{"resources": {"request": {"cpu": "1"}}}]}),
            ("spec.containers[0].resources.request", "requests"),
        ),
        (made("Pod", {**POD, "somethingNew": 1}), None),  # of a newer Kubernetes
        (made("Pod", {**POD, "hostname": "a", "hostPID": True, "hostIPC": True, "os": {"name": "linux"}}), None),
        (made("Pod", {"containers": "none"}), None),
        (made("Deployment", {"template": [1]}), None),
    ],
)
def test_fields(manifest: dict[str, Any], found: tuple[str, str] | None) -> None:
    assert misspelt(manifest) == found


def test_the_message_says_what_is_meant() -> None:
    with pytest.raises(Unusable, match=r"^spec\.replica: unknown field; did you mean replicas\?$"):
        workload_of(made("Deployment", {"replica": 5, "template": TEMPLATE}))


def test_many_unknown_fields_cost_little() -> None:
    """A body of 1 MiB can have 50,000 of them; the scheduler's loop waits."""
    manifest = made("Pod", {**POD, **{f"unknownField{number}": 1 for number in range(50_000)}})
    start = time.process_time()
    assert misspelt(manifest) is None
    assert time.process_time() - start < 0.1
