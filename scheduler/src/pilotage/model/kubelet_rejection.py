"""A kubelet's rejection of a pod, parsed from the pod's status.

Every user who may write the status can forge it, so it is trusted only within limits.
"""

import re
from dataclasses import dataclass

from pilotage.model.quantity import LARGEST

OUT_OF, PODS = "OutOf", "pods"
# Reasons that another pod may have caused by taking resources; all others concern the pod or the node itself.
WITHOUT_NUMBERS = frozenset(
    {
        "NodePorts",
        "SMTAlignmentError",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "VolumeAttachmentLimitExceeded",
    }
)
# The resources by kubelets' names: extended resources can have any name.
OUT_OF_KNOWN = frozenset({"OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods"})
OUT_OF_EXTENDED = "OutOfExtendedResources"

MIRROR = "kubernetes.io/config.mirror"  # the annotation of a mirror pod

_LONGEST_NAME = 317  # characters of a resource's name: a domain, a slash and a label
_LONGEST_MESSAGE = 2048  # characters that are parsed
# The messages of all kubelet versions contain these words, in various orders.
_NUMBERS = {word: re.compile(rf"\b{word}:? ?([0-9]{{1,19}})(?![0-9.])") for word in ("requested", "used", "capacity")}


@dataclass(frozen=True, slots=True)
class KubeletRejection:
    """Why a kubelet rejected a pod; the numbers are millicores for cpu and units for everything else."""

    reason: str
    resource: str = ""  # the insufficient resource, "" for another reason
    requested: int | None = None
    used: int | None = None
    capacity: int | None = None

    @property
    def label(self) -> str:
        """Return the reason as a metric label: one of a few."""
        known = self.reason in OUT_OF_KNOWN or self.reason in WITHOUT_NUMBERS
        return self.reason if known else OUT_OF_EXTENDED

    @property
    def free(self) -> int | None:
        """Return how much was free according to the kubelet, if reported."""
        return None if self.used is None or self.capacity is None else max(0, self.capacity - self.used)


def read_rejection(reason: str, message: str) -> KubeletRejection | None:
    """Parse the reason and the message of a failed pod's status; None if a race cannot be the cause."""
    if reason in WITHOUT_NUMBERS:
        return KubeletRejection(reason)
    resource = reason.removeprefix(OUT_OF)
    if resource == reason or not 0 < len(resource) <= _LONGEST_NAME or not resource.isprintable():
        return None
    requested, used, capacity = (_number(word, message[:_LONGEST_MESSAGE]) for word in _NUMBERS)
    return KubeletRejection(reason, resource, requested, used, capacity)


def _number(word: str, message: str) -> int | None:
    found = _NUMBERS[word].search(message)
    number = None if found is None else int(found[1])
    return None if number is None or number > LARGEST else number
