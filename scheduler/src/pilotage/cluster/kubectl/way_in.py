"""Access to a running scheduler: the replica to ask, and the tunnel to it."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pilotage.cluster.kubectl.identity import Identity, bearer, identity_of
from pilotage.cluster.kubectl.names import API_PORT, AUDIENCE
from pilotage.cluster.kubectl.port_forward import forwarded
from pilotage.cluster.kubectl.programme import Kubectl
from pilotage.cluster.kubectl.refusals import NotReached, Refused
from pilotage.cluster.kubectl.replicas import SELECTOR, USUAL_NAMESPACE, Replica, leader, replicas
from pilotage.cluster.kubectl.requests import Documents, namespaced
from pilotage.cluster.kubectl.scheduler_client import SchedulerClient

SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
NAME_ONE = "name one with --release NAMESPACE/NAME"


@dataclass(frozen=True)
class Wanted:
    """Which release to ask, with which token; "": the only release, and the kubeconfig's token."""

    release: str = ""  # NAMESPACE or NAMESPACE/NAME
    token_from: str = ""  # a service account: NAMESPACE/NAME


async def replicas_of(documents: Documents, release: str = "") -> list[Replica]:
    """Return the replicas of a release, or of all; without the right to list all pods, those of the usual namespace."""
    namespace, _, name = release.partition("/")
    try:
        pods = await documents.items(namespaced("pods", namespace), {"labelSelector": SELECTOR})
    except Refused as error:
        if namespace or not error.is_forbidden:
            raise
        namespace = USUAL_NAMESPACE
        pods = await documents.items(namespaced("pods", namespace), {"labelSelector": SELECTOR})
    found = replicas(pods)
    if not all(_has_leader(found, each) for each in found):
        found = replicas(pods, await _leases(documents, {each.namespace for each in found}))
    return [each for each in found if name in ("", each.release)]


def _has_leader(found: Sequence[Replica], one: Replica) -> bool:
    return any(each.leads for each in found if each.instance == one.instance)


async def _leases(documents: Documents, namespaces: set[str]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for namespace in sorted(namespaces):
        try:
            found += await documents.items(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases")
        except Refused as error:
            if not error.is_forbidden:
                raise
    return found


@asynccontextmanager
async def scheduler(kubectl: Kubectl, documents: Documents, wanted: Wanted) -> AsyncIterator[SchedulerClient]:
    """Give a client of the leader; NotReached or Refused says why there is none."""
    found = await replicas_of(documents, wanted.release)
    chosen = _one_of(found, wanted.release)
    identity = await identity_for(kubectl, wanted.token_from)
    async with forwarded(kubectl, chosen.namespace, chosen.name, API_PORT) as port:
        yield SchedulerClient(f"https://127.0.0.1:{port}", identity, fingerprint=chosen.fingerprint)


def _one_of(found: Sequence[Replica], release: str) -> Replica:
    there = sorted({each.instance for each in found})
    if not there:
        raise NotReached(f"there is no scheduler of Pilotage{f' in {release}' if release else ''}")
    if len(there) > 1:
        raise NotReached(f"there are several releases ({', '.join(there)}); {NAME_ONE}")
    chosen = leader(found)
    if chosen is None:
        raise NotReached(f"no replica of {there[0]} is ready; see kubectl get pods -n {found[0].namespace}")
    return chosen


async def identity_for(kubectl: Kubectl, token_from: str = "") -> Identity:
    """Return the identity: of the named service account, of the kubeconfig's user, or of this pod's account."""
    if token_from:
        namespace, slash, name = token_from.partition("/")
        if not (namespace and slash and name):
            raise NotReached(f"--token-from {token_from}: use NAMESPACE/SERVICEACCOUNT")
        words = ("create", "token", name, "-n", namespace, f"--audience={AUDIENCE}", "--duration=10m")
        return Identity(bearer((await kubectl.run(*words)).decode()))
    chosen = await kubectl.chosen()
    if not chosen["cluster"] and "KUBERNETES_SERVICE_HOST" in os.environ:
        return await identity_of({"tokenFile": str(SERVICE_ACCOUNT_TOKEN)}, {})
    return await identity_of(chosen["user"], chosen["cluster"])
