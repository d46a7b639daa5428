"""Replicates pods of the input."""

from collections.abc import Iterable, Mapping

import msgspec

from pilotage.model.pod import Pod, PodObject


class NoSuchPod(Exception):
    """A name without a pending pod, or of several; the message says what to write."""


def find_pending(name: str, pods: Iterable[Pod]) -> Pod:
    """Return the one pending pod with this name or namespace/name."""
    named = [pod for pod in pods if name in (pod.name, pod.key)]
    pending = [pod for pod in named if not pod.node_name]
    if len(pending) == 1:
        return pending[0]
    if pending:
        raise NoSuchPod(f"there are several pods {name}; write {' or '.join(pod.key for pod in pending)}")
    if named:
        raise NoSuchPod(f"pod {named[0].key} is on node {named[0].node_name} already, so it is not scheduled")
    raise NoSuchPod(f"there is no pending pod {name} in the files")


def multiply(pods: list[Pod], everyone: int, some: Mapping[str, int]) -> list[Pod]:
    """Return all pods, with pending ones replicated: web becomes web-1, web-2 and so on."""
    counts = {find_pending(name, pods).key: count for name, count in some.items()}
    found = [copy for pod in pods for copy in _copies(pod, counts.get(pod.key, everyone))]
    keys: set[str] = set()
    for pod in found:
        if pod.key in keys:
            raise NoSuchPod(f"the name {pod.key} of a replica is already used by another pod; rename one")
        keys.add(pod.key)
    return found


def _copies(pod: Pod, count: int) -> list[Pod]:
    if count == 1 or pod.node_name:
        return [pod]
    return [_renamed(pod, f"{pod.name}-{number}", f"{pod.uid}-{number}") for number in range(1, count + 1)]


def _renamed(pod: Pod, name: str, uid: str) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, name=name, uid=uid)
    return Pod(PodObject(metadata, pod.spec, pod.status))
