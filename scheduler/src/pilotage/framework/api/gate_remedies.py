"""Pods without their scheduling gates, and who removes these."""

from collections.abc import Mapping, Sequence

import msgspec

from pilotage.framework.api.remedies import Change, Difference, PodNames, Remedy, Target
from pilotage.model.pod import Pod, PodObject

# Controllers that set gates and remove them again, by what the names of their gates begin with.
CONTROLLERS: Mapping[str, str] = {"kueue.x-k8s.io/": "Kueue", "grove.io/": "Grove"}
FIELD = "spec.schedulingGates"


def open_gates(pods: Sequence[Pod], *, of_others: bool = False) -> Remedy:
    """Return pods without gates: for the controller that has set them or, if it is not a known one, for the owner."""
    gates = tuple(sorted({gate.name for pod in pods for gate in pod.spec.scheduling_gates}))
    controllers = tuple(dict.fromkeys(_controller(name) for name in gates))
    is_known = "" not in controllers
    number = "gate" if len(gates) == 1 else "gates"
    of_pods = " of {pods}" if of_others else ""
    if is_known:
        words = f"wait until {{controllers}} removes the scheduling {number} {{gates}}{of_pods}"
    else:
        words = f"remove the scheduling {number} {{gates}}{of_pods}, or wait until the controller that set it does"
    alone = pods[0] if len(pods) == 1 else None
    return Remedy(
        code="openGates",
        actor="wait" if is_known else "owner",
        words=words,
        values={"pods": PodNames(pod.key for pod in pods), "gates": gates, "controllers": controllers},
        changes=(Change(FIELD, ", ".join(gates), None),),
        # To remove the gate of a known controller by hand would pass its checks by.
        target=None if alone is None or is_known else Target("Pod", alone.name, alone.namespace, "merge"),
        patch=None if alone is None or is_known else {"spec": {"schedulingGates": None}},
        difference=Difference(pod=None if alone is None else _without_gates(alone)),
    )


def _controller(gate: str) -> str:
    """Return the controller that a gate belongs to; "" for an unknown one."""
    return next((name for prefix, name in CONTROLLERS.items() if gate.startswith(prefix)), "")


def _without_gates(pod: Pod) -> Pod:
    spec = msgspec.structs.replace(pod.spec, scheduling_gates=())
    return Pod(PodObject(pod.metadata, spec, pod.status))
