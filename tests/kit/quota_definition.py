"""Elastic quotas on a live control plane that no chart is installed on."""

from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from kit.control_plane import ControlPlane
from localcluster.paths import REPOSITORY

CHART = REPOSITORY / "charts/pilotage/files"
CRD = "elasticquotas.scheduling.x-k8s.io"
RIGHTS = "test-capacity-scheduling"


@contextmanager
def quotas_defined(control_plane: ControlPlane) -> Iterator[None]:
    """Define the kind, and give the scheduler the rights that the chart gives with the plugin."""
    kubectl = control_plane.kubectl
    kubectl("apply", "--server-side", "-f", str(CHART / "crds" / f"{CRD}.yaml"))
    kubectl.until_established(f"crd/{CRD}")
    group = "rbac.authorization.k8s.io"
    rules = yaml.safe_load((CHART / "plugin-rights.yaml").read_text())["CapacityScheduling"]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": RIGHTS}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": RIGHTS},
        "subjects": [{"kind": "User", "name": "system:kube-scheduler", "apiGroup": group}],
        "roleRef": {"kind": "ClusterRole", "name": RIGHTS, "apiGroup": group},
    }
    kubectl.apply(role, binding)
    yield
    kubectl("delete", "clusterrole,clusterrolebinding", RIGHTS)
    kubectl.delete_definitions(CRD)
