"""Which rights of releases are needed: their roles, held against what the API server logged of their accounts.

A right is needed if something was asked for and granted that no other right of the account allows.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from kit.commands import Kubectl, Manifest
from kit.documented_rights import Right, rights

EVERYTHING = "*"
# Whoever writes the status of a claim needs another right, too, which the API server looks up without a word.
CLAIM_STATUS, CLAIM_BINDING = "resourceclaims/status", "resourceclaims/binding"
OF_THE_CHART = "app.kubernetes.io/name=pilotage"
RELEASE = "app.kubernetes.io/instance"


@dataclass(frozen=True)
class Request:
    """What an account asked the API server for, and the answer."""

    user: str
    namespace: str
    group: str
    resource: str
    verb: str
    name: str
    code: int

    @property
    def is_refused(self) -> bool:
        """Whether the account was told that it may not."""
        return self.code == HTTPStatus.FORBIDDEN

    @property
    def is_granted(self) -> bool:
        """Whether it got what it asked for."""
        return HTTPStatus.OK <= self.code < HTTPStatus.MULTIPLE_CHOICES

    def __str__(self) -> str:
        place = f" in {self.namespace}" if self.namespace else ""
        return f"{self.user} asked to {self.verb} {self.group}/{self.resource} {self.name}{place}: {self.code}"


@dataclass(frozen=True)
class Grant:
    """One right of an account, by one of its roles."""

    user: str
    role: str
    right: Right
    release: str

    def allows(self, request: Request) -> bool:
        """Tell whether this right alone is enough for a request."""
        where, group, resource, verb, name = self.right
        asked = (group, request.group), (resource, request.resource), (verb, request.verb)
        return (
            request.user == self.user
            and where in ("cluster", request.namespace)
            and all(given in (EVERYTHING, wanted) for given, wanted in asked)
            and name in ("", request.name)
        )

    # What follows is the same for all releases: F is what the names of a release's objects begin with.

    @property
    def account(self) -> str:
        """Whose right it is."""
        return self._common(self.user.rpartition(":")[2])

    @property
    def common(self) -> Right:
        """The right as the documentation has it."""
        *words, name = self.right
        where, group, resource, verb = words
        return where, group, resource, verb, self._common(name)

    @property
    def is_borrowed(self) -> bool:
        """Whether it stands for a whole role that the cluster brought."""
        return EVERYTHING in self.right

    def __str__(self) -> str:
        where, group, resource, verb, name = self.common
        what = " ".join(word for word in (verb, f"{group}/{resource}", name) if word)
        return f"{self.account} by {self._common(self.role)} ({where}): {what}"

    def _common(self, name: str) -> str:
        return name.replace(f"{self.release}-pilotage", "F")


def grants(kubectl: Kubectl, namespace: str) -> list[Grant]:
    """Return all rights that charts give to accounts of a namespace."""
    kinds = "clusterroles,roles,clusterrolebindings,rolebindings"
    found = kubectl.get(kinds, "--all-namespaces", "-l", OF_THE_CHART)["items"]
    roles = {_key(each): each for each in found if each["kind"].endswith("Role")}
    return [
        Grant(f"system:serviceaccount:{namespace}:{subject['name']}", binding["roleRef"]["name"], right, release)
        for binding in found
        if binding["kind"].endswith("Binding")
        for release in [binding["metadata"]["labels"][RELEASE]]
        for subject in binding["subjects"]
        if subject.get("namespace") == namespace
        for right in _rights(binding, roles)
    ]


def _rights(binding: Manifest, roles: Mapping[tuple[str, str, str], Any]) -> Iterable[Right]:
    where = binding["metadata"].get("namespace", "cluster")
    reference = binding["roleRef"]
    role = roles.get((reference["kind"], where if reference["kind"] == "Role" else "", reference["name"]))
    # A role of the cluster's own is borrowed as a whole: the binding is all that the chart could leave out.
    return rights(role["rules"], where) if role else [(where, EVERYTHING, EVERYTHING, EVERYTHING, "")]


def _key(role: Manifest) -> tuple[str, str, str]:
    return role["kind"], role["metadata"].get("namespace", ""), role["metadata"]["name"]


def requests(audit_log: Path, namespace: str) -> Iterator[Request]:
    """Read what accounts of a namespace asked for; what is no resource, like the list of all APIs, is left out."""
    prefix = f"system:serviceaccount:{namespace}:"
    for line in audit_log.read_text().splitlines():
        if prefix not in line:
            continue
        event = json.loads(line)
        target, user = event.get("objectRef"), event["user"]["username"]
        if target and "resource" in target and user.startswith(prefix):
            found = Request(
                user,
                target.get("namespace", ""),
                target.get("apiGroup", ""),
                "/".join(target[key] for key in ("resource", "subresource") if key in target),
                event["verb"],
                target.get("name", ""),
                event.get("responseStatus", {}).get("code", 0),
            )
            yield found
            if found.resource == CLAIM_STATUS:
                yield replace(found, resource=CLAIM_BINDING)


def needed(granted: Iterable[Grant], asked: Iterable[Request]) -> set[str]:
    """Return, in their words, the rights without which a request would have been refused."""
    by_user: dict[str, list[Grant]] = {}
    for grant in granted:
        by_user.setdefault(grant.user, []).append(grant)
    found: set[str] = set()
    for request in {request for request in asked if request.is_granted}:
        allowing = [grant for grant in by_user.get(request.user, ()) if grant.allows(request)]
        if len(allowing) == 1:
            found.add(str(allowing[0]))
    return found
