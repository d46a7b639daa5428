"""Misspelt fields of manifests, which the API server would refuse, and which would change the answer here.

Only a field that is one letter away from a known one is an error: others may belong to a newer Kubernetes.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

_LONGEST = 64  # characters of a field that is compared
_MOST = 256  # unknown fields of a manifest: the scheduler's loop waits

_REPLICAS = "minReadySeconds replicas revisionHistoryLimit selector template"
_JOB = (
    "activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector "
    "maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector successPolicy suspend template "
    "ttlSecondsAfterFinished"
)
_POD = (
    "activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks "
    "ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets "
    "initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates "
    "resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup "
    "securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain "
    "terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef"
)
_CONTAINER = (
    "args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy "
    "resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath "
    "terminationMessagePolicy tty volumeDevices volumeMounts workingDir"
)


def _near(names: str) -> dict[str, str]:
    """Return what a field can look like, in small letters, if it has one letter too few."""
    found: dict[str, str] = {}
    for name in names.split():
        for text in _shortened(name.lower()):
            found.setdefault(text, name)
    return found


def _shortened(word: str) -> Iterator[str]:
    yield word
    yield from (word[:place] + word[place + 1 :] for place in range(len(word)))


class _Fields:
    def __init__(self, names: str) -> None:
        self._known = frozenset(names.split())
        self._near = _near(names)

    def unknown(self, given: object) -> Iterator[str]:
        """Yield the fields that are not known."""
        for name in given if isinstance(given, Mapping) else ():
            if isinstance(name, str) and name not in self._known and len(name) <= _LONGEST:
                yield name

    def meant(self, name: str) -> str:
        """Return the known field that is one letter away; "" if none is."""
        return next((self._near[text] for text in _shortened(name.lower()) if text in self._near), "")


_OF_KINDS = {
    "Deployment": _Fields(f"{_REPLICAS} paused progressDeadlineSeconds strategy"),
    "ReplicaSet": _Fields(_REPLICAS),
    "ReplicationController": _Fields(_REPLICAS),
    "StatefulSet": _Fields(
        f"{_REPLICAS} ordinals persistentVolumeClaimRetentionPolicy podManagementPolicy serviceName updateStrategy "
        "volumeClaimTemplates"
    ),
    "DaemonSet": _Fields("minReadySeconds revisionHistoryLimit selector template updateStrategy"),
    "Job": _Fields(_JOB),
    "CronJob": _Fields(
        "concurrencyPolicy failedJobsHistoryLimit jobTemplate schedule startingDeadlineSeconds "
        "successfulJobsHistoryLimit suspend timeZone"
    ),
}
_OF_PODS, _OF_CONTAINERS = _Fields(_POD), _Fields(_CONTAINER)
_OF_RESOURCES = _Fields("claims limits requests")


def misspelt(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the path of the first misspelt field that decides about pods, and the name that is meant."""
    unknown = (
        (path, given, fields, name) for path, given, fields in _parts(manifest) for name in fields.unknown(given)
    )
    for path, given, fields, name in islice(unknown, _MOST):
        if (meant := fields.meant(name)) and meant not in given:
            return f"{path}.{name}", meant
    return None


def _parts(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any, _Fields]]:
    kind, path, spec = str(manifest.get("kind")), "spec", manifest.get("spec")
    while kind in _OF_KINDS:
        yield path, spec, _OF_KINDS[kind]
        inside = "jobTemplate" if kind == "CronJob" else "template"
        kind = "Job" if kind == "CronJob" else "Pod"
        path, spec = f"{path}.{inside}.spec", _at(_at(spec, inside), "spec")
    yield path, spec, _OF_PODS
    for name in ("initContainers", "containers"):
        for number, container in enumerate(_list(_at(spec, name))):
            yield f"{path}.{name}[{number}]", container, _OF_CONTAINERS
            yield f"{path}.{name}[{number}].resources", _at(container, "resources"), _OF_RESOURCES


def _at(given: object, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else None


def _list(given: object) -> Iterable[Any]:
    return given if isinstance(given, list) else ()
