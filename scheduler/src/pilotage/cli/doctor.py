"""`pilotage doctor`: problems of an installation, or with the user's rights, each with a fix."""

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from pilotage.cli.asking import Here, cluster, opened_quietly, run
from pilotage.cli.cluster_flags import About, Asked, asks_a_cluster, output_option
from pilotage.cli.command import NOT_ALL_PLACED, PlainCommand, verbose_option
from pilotage.cli.printing import coloured, print_table, printed
from pilotage.cluster.kubectl.names import PROFILES, PROFILES_API, subject_flag
from pilotage.cluster.kubectl.refusals import NotReached, Refused
from pilotage.cluster.kubectl.replicas import USUAL_NAMESPACE, Replica
from pilotage.cluster.kubectl.requests import Documents
from pilotage.views.objects.findings import FAULT, OK, WARNING, Facts, Finding, Right, findings

NOT_WELL = NOT_ALL_PLACED
COLOURS = {OK: "green", WARNING: "yellow", FAULT: "red"}
DAY = 86400.0
DEPLOYMENTS = "/apis/apps/v1/deployments"
OF_PILOTAGE = {"labelSelector": "app.kubernetes.io/part-of=pilotage"}

EPILOG = """\b
Examples:
  pilotage doctor
  pilotage doctor --as jane -o json

\b
Exit code: 0 if there is no fault, 3 if there is one, 2 if the cluster does not respond. Warnings do not count.
"""


@click.command("doctor", cls=PlainCommand, epilog=EPILOG)
@click.option("--all", "everything", is_flag=True, help="Show checks that passed, too.")
@asks_a_cluster(About.CLUSTER)
@output_option()
@verbose_option
def command(asked: Asked, everything: bool, output: str, no_headers: bool) -> None:
    """Check versions, clocks, your rights, CRDs, releases, profiles, certificates, and duplicate scheduler names.

    Each problem is shown with a fix. Nothing is changed.
    """
    found = findings(run(_facts(asked)))
    is_well = all(each.state != FAULT for each in found)
    if not printed({"kind": "Findings", "well": is_well, "items": [asdict(each) for each in found]}, output):
        _tell(found, everything=everything, headers=not no_headers)
    if not is_well:
        raise SystemExit(NOT_WELL)


def _tell(found: list[Finding], *, everything: bool, headers: bool) -> None:
    shown = [each for each in found if everything or each.state != OK]
    rows = [[coloured(each.state, COLOURS[each.state]), each.check, each.text, each.do] for each in shown]
    print_table(["STATE", "CHECK", "WHAT", "DO"], rows, headers=headers)
    well = sum(each.state == OK for each in found)
    click.echo(f"{well} of {len(found)} checks passed" + ("" if everything else "; --all shows them"), err=True)


async def _facts(asked: Asked) -> Facts:
    """Check everything; what you may not read is left out."""
    async with cluster(asked) as documents:
        server = (await documents.get("/version")).get("gitVersion", "")  # fails if there is no cluster
        facts = Facts(server=server, program=_version(), kubectl=await _kubectl(asked))
        facts.user, facts.clock = await _who(documents)
        facts.definitions = await _serves_profiles(documents)
        facts.replicas = await _seen(Here(asked, documents).replicas)
        facts.profiles = await _seen(lambda: documents.items(PROFILES)) or []
        facts.deployments = await _seen(lambda: documents.items(DEPLOYMENTS, OF_PILOTAGE)) or []
        facts.rights = await _rights(documents, facts.replicas or (), subject_flag(facts.user))
    facts.certificates = await _certificates(asked)
    if facts.replicas:
        facts.read_api = await opened_quietly(asked)
    return facts


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # not imported for help

    try:
        return version("pilotage")
    except PackageNotFoundError:
        return ""


async def _kubectl(asked: Asked) -> str | None:
    from pilotage.cluster.kubectl.programme import Kubectl  # not imported for help

    try:
        found = json.loads(await Kubectl(asked.way).run("version", "--client", "-o", "json"))
        return str(found["clientVersion"]["gitVersion"])
    except (NotReached, Refused, ValueError, KeyError):
        return None


async def _who(documents: Documents) -> tuple[str, float | None]:
    """Return the user, and the seconds that this machine is ahead of the server."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        before = datetime.now(UTC)
        told = await documents.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
        after = datetime.now(UTC)
    except Refused:
        return "", None
    user = str(((told.get("status") or {}).get("userInfo") or {}).get("username", ""))
    stamp = (told.get("metadata") or {}).get("creationTimestamp")
    if not stamp:
        return user, None
    there = datetime.fromisoformat(stamp)  # truncated to seconds
    ahead = (before - there).total_seconds() - 1.0, (after - there).total_seconds()
    return user, 0.0 if ahead[0] <= 0 <= ahead[1] else min(ahead, key=abs)


async def _serves_profiles(documents: Documents) -> bool | None:
    try:
        found = await documents.get(PROFILES_API)
    except Refused as error:
        return False if error.is_absent else None
    return any(each.get("name") == "schedulerprofiles" for each in found.get("resources") or ())


async def _seen(look: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await look()
    except Refused as error:
        if error.is_forbidden or error.is_absent:
            return None
        raise


async def _rights(documents: Documents, replicas: Sequence[Replica], subject: str) -> list[Right]:
    place = replicas[0].namespace if replicas else USUAL_NAMESPACE
    explainer = f"kubectl create clusterrolebinding explainer --clusterrole=pilotage-explainer.{place} {subject}"
    forward = f"kubectl create rolebinding ask -n {place} --role=pilotage-ask {subject}"
    wanted = (
        ("list", "", "pods", "", "", "queue and explain work only for namespaces that you name", explainer),
        ("list", "", "nodes", "", "", "explain, top and what-if need the scheduler", explainer),
        ("create", "", "pods", "portforward", place, "the scheduler cannot be asked", forward),
        (
            "list",
            "pilotage.dev",
            "schedulerprofiles",
            "",
            "",
            "status, diff and history do not work for profiles",
            "bind the ClusterRole view",
        ),
    )
    return [await _right(documents, *each) for each in wanted]


async def _right(
    documents: Documents, verb: str, group: str, resource: str, sub: str, namespace: str, purpose: str, grant: str
) -> Right:
    attributes = {"verb": verb, "group": group, "resource": resource, "subresource": sub, "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {name: value for name, value in attributes.items() if value}},
    }
    told = await documents.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    name = f"{resource}/{sub}" if sub else resource
    where = f" in {namespace}" if namespace else " in all namespaces" if resource == "pods" else ""
    allowed = bool((told.get("status") or {}).get("allowed"))
    return Right(f"{verb} {name}{where}", purpose, allowed, grant)


async def _certificates(asked: Asked) -> dict[str, float]:
    """Return for how many days the certificates of the kubeconfig are valid."""
    try:
        from cryptography import x509  # not in the small plugin

        from pilotage.cluster.kubectl.programme import Kubectl

        chosen = await Kubectl(asked.way).chosen()
    except (ImportError, NotReached, Refused):
        return {}
    named = {
        "your client certificate": chosen["user"].get("client-certificate-data"),
        "the API server's certificate authority": chosen["cluster"].get("certificate-authority-data"),
    }
    now = datetime.now(UTC)
    found = {}
    for name, data in named.items():
        if data:
            ends = x509.load_pem_x509_certificate(base64.b64decode(data)).not_valid_after_utc
            found[name] = (ends - now).total_seconds() / DAY
    return found
