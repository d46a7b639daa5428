"""How much one pod may ask for: everything up to the limits, and nothing beyond them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pilotage.model import limits
from pilotage.model.excess import excess_of, has_too_many_terms
from pilotage.testing import make_pod

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
Fields = dict[str, Any]


def conditions(number: int, values: int = 1) -> list[Fields]:
    return [{"key": f"k{i}", "operator": "In", "values": [f"v{j}" for j in range(values)]} for i in range(number)]


def node_affinity(terms: list[Fields]) -> Fields:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def pod_affinity(number: int, kind: str = "podAntiAffinity", **term: Any) -> Fields:
    return {"affinity": {kind: {REQUIRED: [{"topologyKey": f"k{i}", **term} for i in range(number)]}}}


def preferred(number: int) -> Fields:
    terms = [{"weight": 1, "podAffinityTerm": {"topologyKey": f"k{i}"}} for i in range(number)]
    return {"affinity": {"podAffinity": {PREFERRED: terms}}}


def spreads(number: int, **fields: Any) -> Fields:
    return {"spec": {"topologySpreadConstraints": [{"topologyKey": f"k{i}", **fields} for i in range(number)]}}


def containers(number: int) -> Fields:
    return {"spec": {"containers": [{"name": f"c{i}"} for i in range(number)]}}


def volumes(number: int) -> Fields:
    claims = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}} for i in range(number)]
    return {"spec": {"volumes": claims}}


def claims(number: int) -> Fields:
    return {"spec": {"resourceClaims": [{"name": f"c{i}", "resourceClaimName": f"c{i}"} for i in range(number)]}}


def owners(number: int) -> Fields:
    return {"metadata": {"ownerReferences": [{"name": f"o{i}", "uid": f"u{i}"} for i in range(number)]}}


NODES = "conditions on nodes in nodeSelector and node affinity"
PODS = "namespaces, conditions and values in its pod affinity"
SPREADS = "conditions and values in its topology spread constraints"
TERMS = "terms of pod affinity and anti-affinity"
TABLE = [
    pytest.param("containers", limits.MOST_CONTAINERS, containers, id="containers"),
    pytest.param("resources in its requests", limits.MOST_RESOURCES,
                 lambda n: {"requests": {f"x.io/r{i}": 1 for i in range(n)}}, id="names of resources"),
    pytest.param("host ports", limits.MOST_HOST_PORTS, lambda n: {"host_ports": range(1, n + 1)}, id="host ports"),
    pytest.param("volumes that matter to scheduling", limits.MOST_VOLUMES, volumes, id="claims for volumes"),
    pytest.param("resource claims", limits.MOST_CLAIMS, claims, id="claims for devices"),
    pytest.param("tolerations", limits.MOST_TOLERATIONS,
                 lambda n: {"tolerations": [{"key": f"k{i}"} for i in range(n)]}, id="tolerations"),
    pytest.param("topology spread constraints", limits.MOST_SPREADS, spreads, id="constraints"),
    pytest.param(NODES, limits.MOST_NODE_CONDITIONS,
                 lambda n: {"node_selector": {f"k{i}": "v" for i in range(n)}}, id="keys of nodeSelector"),
    pytest.param(NODES, limits.MOST_NODE_CONDITIONS,
                 lambda n: node_affinity([{"matchExpressions": conditions(n)}]), id="expressions in one term"),
    pytest.param(NODES, limits.MOST_NODE_CONDITIONS,
                 lambda n: node_affinity([{"matchFields": conditions(1)} for _ in range(n)]), id="terms with a field"),
    pytest.param("values in its node affinity", limits.MOST_NODE_VALUES,
                 lambda n: node_affinity([{"matchExpressions": conditions(1, n)}]), id="values of one expression"),
    pytest.param(TERMS, limits.MOST_POD_TERMS, pod_affinity, id="required terms"),
    pytest.param(TERMS, limits.MOST_POD_TERMS, preferred, id="preferred terms"),
    pytest.param(PODS, limits.MOST_POD_CONDITIONS,
                 lambda n: pod_affinity(1, namespaces=[f"n{i}" for i in range(n)]), id="namespaces of a term"),
    pytest.param(PODS, limits.MOST_POD_CONDITIONS,
                 lambda n: pod_affinity(1, "podAffinity", labelSelector={"matchExpressions": conditions(1, n - 1)}),
                 id="values in the selector of a term"),
    pytest.param(PODS, limits.MOST_POD_CONDITIONS,
                 lambda n: pod_affinity(1, namespaceSelector={"matchLabels": {f"k{i}": "v" for i in range(n)}}),
                 id="labels of namespaces"),
    pytest.param(SPREADS, limits.MOST_POD_CONDITIONS,
                 lambda n: spreads(1, matchLabelKeys=[f"k{i}" for i in range(n)]), id="label keys of a constraint"),
    pytest.param("labels", limits.MOST_LABELS, lambda n: {"labels": {f"k{i}": "v" for i in range(n)}}, id="labels"),
    pytest.param("owners", limits.MOST_OWNERS, owners, id="owners"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "most", "fields"), TABLE)
def test_a_limit(what: str, most: int, fields: Callable[[int], Fields]) -> None:
    assert excess_of(make_pod(**fields(most))) is None
    excess = excess_of(make_pod(**fields(most + 1)))
    assert str(excess) == f"the pod has {most + 1:,} {what}, and at most {most:,} are allowed"


def test_all_that_scheduling_reads_has_a_limit_together() -> None:
    names = [f"{i:0>60}" for i in range(limits.MOST_NODE_VALUES)]
    pod = make_pod(**node_affinity([{"matchExpressions": [{"key": "k", "operator": "In", "values": names}]}]))
    assert str(excess_of(pod)) == (
        f"the pod has {len(pod.shape.key):,} bytes of scheduling requirements, and at most 262,144 are allowed"
    )


def test_what_scheduling_does_not_read_has_no_limit() -> None:
    secrets = [{"name": f"s{i}", "secret": {"secretName": f"s{i}"}} for i in range(1000)]
    assert excess_of(make_pod(spec={"volumes": secrets}, annotations={f"k{i}": "v" for i in range(5000)})) is None


@pytest.mark.parametrize(
    ("fields", "too_many"),
    [
        pytest.param({}, False, id="none at all"),
        pytest.param(pod_affinity(limits.MOST_POD_TERMS), False, id="as many as are looked at"),
        pytest.param(pod_affinity(limits.MOST_POD_TERMS + 1), True, id="one more"),
        pytest.param(
            pod_affinity(1, namespaces=[str(i) for i in range(2000)]), True, id="one with too many namespaces"
        ),
        pytest.param(spreads(1000), False, id="many of something else"),
    ],
)
def test_terms_that_are_too_many_for_others(fields: Fields, too_many: bool) -> None:
    assert has_too_many_terms(make_pod(**fields).shape) is too_many


def test_the_page_has_every_limit() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
    rows = re.findall(r"\| ([\d,]+) \|\n", page.split("## Limits of one object")[1].split("```")[0])
    of_pods = {name: most for name, most in vars(limits).items() if name.startswith("MOST_") and name != "MOST_TAINTS"}
    # Pod affinity and constraints have the same limit for their conditions.
    assert sorted(int(row.replace(",", "")) for row in rows) == sorted([*of_pods.values(), limits.MOST_POD_CONDITIONS])
