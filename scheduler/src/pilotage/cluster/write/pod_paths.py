"""API paths of pods."""

from urllib.parse import quote

from pilotage.model.pod import Pod


def pod_path(pod: Pod) -> str:
    """Return the path of a pod."""
    return f"/api/v1/namespaces/{quote(pod.namespace, safe='')}/pods/{quote(pod.name, safe='')}"


def binding_path(pod: Pod) -> str:
    """Return the path of a pod's binding."""
    return f"{pod_path(pod)}/binding"


def status_path(pod: Pod) -> str:
    """Return the path of a pod's status."""
    return f"{pod_path(pod)}/status"
