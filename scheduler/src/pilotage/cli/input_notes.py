"""Notes about the input of a simulation: what is ignored, and what is probably a mistake."""

from collections import Counter
from collections.abc import Iterable, Iterator

from pilotage.model.pod import Pod
from pilotage.offline.manifests import Manifests

CONTROLLERS = ("CronJob", "DaemonSet", "Deployment", "Job")
FEW = 5


def input_notes(found: Manifests, unserved: list[Pod], served: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each note."""
    yield from _left_out(found)
    yield from _about_pods(found)
    yield from _about_unserved(unserved, served)
    yield from _about_nodes(found)


def _left_out(found: Manifests) -> Iterator[str]:
    number = found.left_out.total()
    if number:
        kinds = ", ".join(kind for kind, _ in found.left_out.most_common())
        yield f"{counted(number, 'object')} of other kinds ({kinds}) {_were(number)} ignored"
    controllers = [kind for kind in CONTROLLERS if found.left_out[kind]]
    if controllers:
        yield (
            f"only pods are scheduled, not their controllers ({', '.join(controllers)}): pass the pods, "
            "as `kubectl get pods -o yaml` prints them; --replicas multiplies one"
        )


def _about_pods(found: Manifests) -> Iterator[str]:
    if found.finished:
        yield f"{counted(found.finished, 'pod')} that had finished {_were(found.finished)} ignored"
    if found.leaving:
        yield f"{counted(found.leaving, 'pod')} that {_were(found.leaving)} deleted before scheduling ignored"
    nodes = {node.name for node in found.nodes}
    homeless = Counter(pod.node_name for pod in found.pods if pod.node_name and pod.node_name not in nodes)
    if homeless:
        yield f"pods that are ignored, because their nodes are not in the files ({_some(homeless)}): {homeless.total()}"


def _about_unserved(unserved: list[Pod], served: Iterable[str]) -> Iterator[str]:
    if unserved:
        names = ", ".join(Counter(pod.scheduler_name for pod in unserved))
        text = f"pods that are ignored, because no profile has their schedulerName ({names}): {len(unserved)}"
        yield f"{text}; the profiles are {', '.join(served)}"


def _about_nodes(found: Manifests) -> Iterator[str]:
    full = [node.name for node in found.nodes if not node.allowed_pods]
    if full:
        yield (
            f"nodes that accept no pods, because their status.allocatable has no `pods` ({_some(full)}): {len(full)}; "
            "a kubelet's default is 110"
        )


def counted(number: int, thing: str) -> str:
    """Return a number of things in words: 1 pod, 2 pods."""
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _some(names: Counter[str] | list[str]) -> str:
    shown = list(names)[:FEW]
    return ", ".join(shown) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")
