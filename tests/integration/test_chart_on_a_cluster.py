"""The chart on a real API server, with Helm 3 and with Helm 4: it installs, and it goes without a trace."""

import pytest

from cluster.paths import REPOSITORY
from testbed.commands import CommandFailed
from testbed.control_plane import ControlPlane

CHART = str(REPOSITORY / "charts" / "pilotage")


@pytest.mark.parametrize("major", [3, 4], ids=["Helm 3", "Helm 4"])
def test_install_and_uninstall(control_plane: ControlPlane, namespace: str, major: int) -> None:
    helm, kubectl = control_plane.helm(major), control_plane.kubectl
    before = kubectl("get", "serviceaccounts", "-n", namespace, "-o", "name")
    helm("install", "mine", CHART, "--namespace", namespace, "--wait")
    assert "mine" in kubectl("get", "serviceaccounts", "-n", namespace, "-o", "name")
    helm("uninstall", "mine", "--namespace", namespace, "--wait")
    assert kubectl("get", "serviceaccounts", "-n", namespace, "-o", "name") == before


def test_a_failure_shows_the_answer_and_the_logs(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(CommandFailed) as failure:
        control_plane.kubectl("get", "pod", "nobody", "-n", namespace)
    assert 'pods "nobody" not found' in str(failure.value)
    assert "--- the cluster logged\n" in str(failure.value)
    assert "kube-apiserver:" in str(failure.value)
