"""Problems of an installation and of the user's rights: facts in, findings out."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pilotage.cluster.kubectl.replicas import Replica, condition

OLDEST, NEWEST = 35, 37  # minor versions of Kubernetes 1 that a release supports
MOST_SKEW = 1  # minor versions between kubectl and the server
CLOCK, CLOCK_BAD = 5.0, 30.0  # seconds
SOON = 14.0  # days
OK, WARNING, FAULT = "ok", "warning", "fault"


@dataclass(frozen=True)
class Right:
    """A right, and what it is for."""

    text: str
    purpose: str
    allowed: bool
    grant: str


@dataclass
class Facts:
    """What was read; None where reading was not possible."""

    server: str | None = None  # versions, as v1.37.1
    kubectl: str | None = None
    program: str = ""
    user: str = ""
    clock: float | None = None  # seconds that this machine is ahead of the server
    definitions: bool | None = None
    replicas: Sequence[Replica] | None = None
    deployments: Sequence[Mapping[str, Any]] = ()
    profiles: Sequence[Mapping[str, Any]] = ()
    rights: Sequence[Right] = ()
    certificates: Mapping[str, float] = field(default_factory=dict)  # days that are left
    read_api: str | None = None  # why it does not answer; "" if it does


@dataclass(frozen=True)
class Finding:
    """The result of a check, with a fix for a problem."""

    check: str
    state: str
    text: str
    do: str = ""


def findings(facts: Facts) -> list[Finding]:
    """Return all findings, in a useful order."""
    parts = (_versions, _clock, _rights, _definitions, _releases, _profiles, _names, _certificates, _read_api)
    return [found for part in parts for found in part(facts)]


def _versions(facts: Facts) -> Iterator[Finding]:
    server, kubectl = _minor(facts.server), _minor(facts.kubectl)
    if facts.server is None or server is None:
        yield Finding("server", FAULT, "the API server does not report its version", "kubectl version")
    elif server < OLDEST:
        yield Finding("server", FAULT, f"Kubernetes {facts.server} is too old", f"upgrade to 1.{OLDEST} or newer")
    elif server > NEWEST:
        text = f"Kubernetes {facts.server} is newer than the newest tested version (1.{NEWEST})"
        yield Finding("server", WARNING, text, "upgrade Pilotage, or read the release notes")
    else:
        yield Finding("server", OK, f"Kubernetes {facts.server}")
    if facts.kubectl is None:
        yield Finding("kubectl", WARNING, "kubectl is not on PATH: the scheduler cannot be asked", "install kubectl")
    elif kubectl is not None and server is not None and abs(kubectl - server) > MOST_SKEW:
        text = f"kubectl {facts.kubectl} and the server {facts.server} are more than one minor version apart"
        yield Finding("kubectl", WARNING, text, f"install kubectl 1.{server}")
    else:
        yield Finding("kubectl", OK, f"kubectl {facts.kubectl}")


def _clock(facts: Facts) -> Iterator[Finding]:
    if facts.clock is None:
        return
    text = (
        f"this machine's clock is {abs(facts.clock):.0f} s {'ahead of' if facts.clock > 0 else 'behind'} the server's"
    )
    if abs(facts.clock) < CLOCK:
        yield Finding("clock", OK, "this machine and the server have the same time")
    else:
        state = FAULT if abs(facts.clock) >= CLOCK_BAD else WARNING
        yield Finding("clock", state, text, "synchronise both clocks with a time server")


def _rights(facts: Facts) -> Iterator[Finding]:
    for right in facts.rights:
        if right.allowed:
            yield Finding("rights", OK, f"{facts.user or 'you'} may {right.text}")
        else:
            text = f"{facts.user or 'you'} may not {right.text}: {right.purpose}"
            yield Finding("rights", WARNING, text, right.grant)


def _definitions(facts: Facts) -> Iterator[Finding]:
    if facts.definitions is None:
        return
    if facts.definitions:
        yield Finding("definitions", OK, "the cluster serves SchedulerProfiles")
    else:
        do = "helm install pilotage charts/pilotage --namespace pilotage --create-namespace"
        yield Finding(
            "definitions", FAULT, "the cluster does not serve SchedulerProfiles: Pilotage is not installed", do
        )


def _releases(facts: Facts) -> Iterator[Finding]:
    if facts.replicas is None:
        return
    by_release: dict[str, list[Replica]] = {}
    for each in facts.replicas:
        by_release.setdefault(each.instance, []).append(each)
    if not by_release and facts.definitions:
        yield Finding("release", FAULT, "there is no scheduler pod of Pilotage", "kubectl get deployments -A")
    for name, own in sorted(by_release.items()):
        yield from _release(name, own)
    for deployment in facts.deployments:
        version = (deployment["metadata"].get("labels") or {}).get("app.kubernetes.io/version", "")
        title = f"{deployment['metadata']['namespace']}/{deployment['metadata']['name']}"
        if version and facts.program and version != facts.program:
            text = f"{title} is of version {version}, this program of {facts.program}"
            yield Finding("version", WARNING, text, f"install the wheel of {version}, or upgrade the release")


def _release(name: str, own: Sequence[Replica]) -> Iterator[Finding]:
    namespace = name.partition("/")[0]
    ready, hashes = sum(each.ready for each in own), {each.hash for each in own if each.hash}
    if not any(each.leads for each in own):
        text = "no leader is known: the Lease is free, or you may not read it"
        yield Finding("leader", WARNING, f"{name}: {text}", f"kubectl get leases -n {namespace}")
    if ready < len(own):
        look = f"kubectl describe pods -n {namespace} -l app.kubernetes.io/component=scheduler"
        yield Finding("release", FAULT, f"{name}: {ready} of {len(own)} replicas are ready", look)
    else:
        yield Finding("release", OK, f"{name}: {ready} of {len(own)} replicas are ready")
    if len(hashes) > 1:
        text = f"{name}: replicas run different configurations ({', '.join(sorted(hashes))})"
        yield Finding(
            "configuration", FAULT, text, "if this lasts for more than a minute, see the logs of the replicas"
        )
    for each in own:
        if each.trouble:
            look = f"kubectl logs -n {namespace} {each.name}"
            yield Finding("configuration", FAULT, f"{name}: {each.name} reports {each.trouble}", look)


def _profiles(facts: Facts) -> Iterator[Finding]:
    for profile in facts.profiles:
        name, ready = profile["metadata"]["name"], condition(profile, "Ready")
        if ready.get("status") == "True":
            yield Finding("profile", OK, f"{name} is ready")
        else:
            reason, message = ready.get("reason", "the operator has not processed it"), ready.get("message", "")
            text = f"{name} is not ready: {reason}: {message}".rstrip(": ")
            yield Finding("profile", FAULT, text, f"kubectl describe schedulerprofile {name}")


def _names(facts: Facts) -> Iterator[Finding]:
    """Yield scheduler names that are served more than once: all of those schedulers race for every pod."""
    served = Counter(_scheduler_name(profile) for profile in facts.profiles)
    for name, times in served.items():
        if times > 1:
            text = f"{times} profiles have the schedulerName {name}; the oldest keeps it"
            yield Finding("names", FAULT, text, "change spec.schedulerName in all but one of them")
    for profile in facts.profiles:
        warning = condition(profile, "Warning")
        if warning.get("status") == "True" and warning.get("reason") == "SharedName":
            yield Finding("names", FAULT, str(warning.get("message", "")), "stop kube-scheduler, or rename the profile")


def _scheduler_name(profile: Mapping[str, Any]) -> str:
    spec, status = profile.get("spec") or {}, profile.get("status") or {}
    return str(spec.get("schedulerName") or status.get("schedulerName") or profile["metadata"]["name"])


def _certificates(facts: Facts) -> Iterator[Finding]:
    for name, days in facts.certificates.items():
        if days <= 0:
            yield Finding("certificate", FAULT, f"{name} has expired", "renew it")
        elif days < SOON:
            yield Finding("certificate", WARNING, f"{name} expires in {days:.0f} days", "renew it")
        else:
            yield Finding("certificate", OK, f"{name} is valid for {days:.0f} days")


def _read_api(facts: Facts) -> Iterator[Finding]:
    if facts.read_api is None:
        return
    if facts.read_api:
        do = "commands use the API server instead; docs/kubectl.md lists the rights for the scheduler"
        yield Finding("scheduler", WARNING, f"you have no access to the scheduler: {facts.read_api}", do)
    else:
        yield Finding("scheduler", OK, "you have access to the scheduler")


def _minor(version: str | None) -> int | None:
    found = re.match(r"v?1\.(\d+)", version or "")
    return int(found[1]) if found else None
