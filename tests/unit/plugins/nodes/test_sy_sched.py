import logging
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.plugin import NODE
from pilotage.kinds.seccomp_profile import SeccompProfile, profile_at
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.sy_sched import SySched, syscall_sets
from pilotage.plugins.nodes.sy_sched.syscall_sets import SyscallSets
from pilotage.testing import FakeCluster, make_node, make_pod, raw_scores, score_all

ANNOTATION = "seccomp.security.alpha.kubernetes.io/pod"
SHARED = [f"call-{i}" for i in range(20)]


def profile(name: str, calls: Iterable[str], *, namespace: str = "default", **spec: Any) -> SeccompProfile:
    rules = [{"names": list(calls), "action": spec.pop("action", "SCMP_ACT_ALLOW")}]
    manifest = {"metadata": {"name": name, "namespace": namespace}, "spec": {"syscalls": rules, **spec}}
    return msgspec.convert(manifest, SeccompProfile)


def path(name: str, namespace: str = "default") -> str:
    return f"localhost/operator/{namespace}/{name}.json"


def localhost(name: str) -> dict[str, Any]:
    return {"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": path(name)}}}


def confined(profile_name: str, name: str = "pod", node: str | None = None) -> Pod:
    return make_pod(name, node=node, spec=localhost(profile_name))


PROFILES = [
    profile("x-seccomp", [*SHARED, "x"]),
    profile("z-seccomp", [*SHARED, "z"]),
    profile("none", []),
    profile("far", [f"far-{i}" for i in range(30)]),
]


def cluster(*nodes: list[str], objects: list[SeccompProfile] = PROFILES) -> FakeCluster:
    """Return the nodes n1, n2 and so on, each with pods of these profiles."""
    pods = [
        confined(name, f"p{i}-{j}", f"n{i}") for i, names in enumerate(nodes, start=1) for j, name in enumerate(names)
    ]
    return FakeCluster([make_node(f"n{i}") for i in range(1, len(nodes) + 1)], pods, objects)


def numbered(*scores: int) -> dict[str, int]:
    return {f"n{i}": score for i, score in enumerate(scores, start=1)}


# -------------------------------------------------------------------------------------------------------------- score


@pytest.mark.parametrize(
    ("there", "raw"),
    [
        pytest.param(["z-seccomp"], 2, id="a neighbour that differs by one call each way"),
        pytest.param(["x-seccomp"], 0, id="a neighbour of the same profile"),
        pytest.param(["x-seccomp", "x-seccomp"], 0, id="many of them"),
        pytest.param(["z-seccomp", "z-seccomp"], 3, id="one call of theirs, and one of the pod to each of two"),
        pytest.param(["x-seccomp", "z-seccomp"], 3, id="neighbours that differ among themselves"),
        pytest.param(["far"], 30 + 21, id="a neighbour that has nothing in common"),
        pytest.param(["none"], 21, id="a neighbour that makes no calls"),
        pytest.param([], 21, id="no neighbour: all that the pod opens"),
    ],
)
def test_raw_scores(there: list[str], raw: int) -> None:
    assert raw_scores(SySched(), cluster(there), confined("x-seccomp")) == {"n1": raw}


@pytest.mark.parametrize(
    ("nodes", "scores"),
    [
        pytest.param([["x-seccomp"], ["z-seccomp"]], (100, 0), id="the same profile is best"),
        pytest.param([["x-seccomp"], ["x-seccomp"]], (100, 100), id="all are as good as can be"),
        pytest.param([["z-seccomp"], ["far"]], (97, 0), id="a share of the worst"),
        pytest.param([["z-seccomp"], []], (91, 0), id="similar pods are better than none"),
        pytest.param([["far"], []], (0, 59), id="no pods are better than strangers"),
    ],
)
def test_scores(nodes: list[list[str]], scores: tuple[int, ...]) -> None:
    assert score_all(SySched(), cluster(*nodes), confined("x-seccomp")) == numbered(*scores)


@pytest.mark.parametrize(
    ("raw", "normal"),
    [([100, 200], [50, 0]), ([0, 7], [100, 0]), ([0, 0], [100, 100])],
    ids=["half of the worst", "nothing in vain is best", "nothing in vain anywhere"],
)
def test_normalisation(raw: list[int], normal: list[int]) -> None:
    wanted = [f"w{i}" for i in range(200)]
    objects = [profile("w", wanted), *(profile(f"less-{n}", wanted[n:]) for n in raw)]
    found = cluster(*([f"less-{n}"] for n in raw), objects=objects)
    assert raw_scores(SySched(), found, confined("w")) == numbered(*raw)
    assert score_all(SySched(), found, confined("w")) == numbered(*normal)


def test_a_pod_without_any_calls_prefers_no_node() -> None:
    found = cluster(["x-seccomp"], ["far"], [])
    assert score_all(SySched(), found, make_pod()) == numbered(100, 100, 100)


def test_pods_of_one_name_in_two_namespaces_both_count() -> None:
    found = cluster([])
    for namespace in ("a", "b"):
        found.add_pod(make_pod("same", namespace=namespace, node="n1", spec=localhost("z-seccomp")))
    assert raw_scores(SySched(), found, confined("x-seccomp")) == {"n1": 3}


# --------------------------------------------------------------------------------------------------- the set of a pod


def sets(*objects: SeccompProfile) -> SyscallSets:
    return SyscallSets(FakeCluster(objects=objects).cache.objects, ("default", "all-syscalls"), set())


A, B, ALL = profile("a", ["a"]), profile("b", ["b"]), profile("all-syscalls", ["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("pod", "size"),
    [
        pytest.param(make_pod(spec=localhost("a")), 1, id="the profile of the pod"),
        pytest.param(make_pod(spec=localhost("a") | {"containers": [localhost("b")]}), 2, id="and of a container"),
        pytest.param(make_pod(spec=localhost("a") | {"initContainers": [localhost("b")]}), 1, id="init containers not"),
        pytest.param(make_pod(annotations={ANNOTATION: path("a")}), 1, id="an annotation of old"),
        pytest.param(
            make_pod(annotations={ANNOTATION: path("a"), f"container.{ANNOTATION}": path("b")}),
            2,
            id="all annotations of old, whatever their order",
        ),
        pytest.param(make_pod(annotations={"example.com/seccomp": path("a")}), 4, id="another annotation is none"),
        pytest.param(make_pod(), 4, id="no profile is the default profile"),
        pytest.param(make_pod(spec=localhost("missing")), 4, id="so is one that is not there"),
        pytest.param(make_pod(annotations={ANNOTATION: "unconfined"}), 4, id="so is no path"),
        pytest.param(
            make_pod(
                spec={"securityContext": {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": path("a")}}}
            ),
            4,
            id="so is the profile of the runtime",
        ),
    ],
)
def test_the_calls_of_a_pod(pod: Pod, size: int) -> None:
    assert sets(A, B, ALL).of_pod(pod).bit_count() == size


@pytest.mark.parametrize(
    ("action", "size"),
    [("SCMP_ACT_ALLOW", 2), ("SCMP_ACT_LOG", 2), ("SCMP_ACT_ERRNO", 0), ("SCMP_ACT_KILL", 0), ("", 0)],
)
def test_actions_that_let_calls_pass(action: str, size: int) -> None:
    assert sets(profile("a", ["x", "y"], action=action)).of_pod(confined("a")).bit_count() == size


@pytest.mark.parametrize(
    ("objects", "size"),
    [
        pytest.param([profile("a", ["a"], baseProfileName="b"), B], 2, id="a base"),
        pytest.param(
            [
                profile("a", ["a"], baseProfileName="b"),
                profile("b", ["b"], baseProfileName="c"),
                profile("c", ["a", "c"]),
            ],
            3,
            id="the base of a base",
        ),
        pytest.param(
            [profile("a", ["a"], baseProfileName="b"), profile("b", ["b"], baseProfileName="a")],
            2,
            id="two that are based on each other",
        ),
        pytest.param([profile("a", ["a"], baseProfileName="a")], 1, id="one that is based on itself"),
        pytest.param([profile("a", ["a"], baseProfileName="b")], 1, id="a base that is not there"),
        pytest.param(
            [profile("a", ["a"], baseProfileName="b"), profile("b", ["b"], namespace="other")],
            1,
            id="a base of another namespace",
        ),
    ],
)
def test_a_profile_permits_what_its_base_permits(objects: list[SeccompProfile], size: int) -> None:
    assert sets(*objects).of_pod(confined("a")).bit_count() == size


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("localhost/operator/default/httpd-seccomp.json", ("default", "httpd-seccomp")),
        ("operator/team/nginx.v1.json", ("team", "nginx.v1")),
        ("team/nginx", ("team", "nginx")),
        ("nginx.json", None),
        ("", None),
        ("/", None),
        ("team/", None),
        ("team/.json", None),
        ("/nginx.json", None),
    ],
)
def test_the_profile_at_a_path(given: str, found: tuple[str, str] | None) -> None:
    assert profile_at(given) == found


def test_another_profile_may_be_the_default() -> None:
    plugin = SySched.of({"defaultProfileNamespace": "team", "defaultProfileName": "usual"})
    found = cluster(["x-seccomp"], objects=[*PROFILES, profile("usual", [*SHARED, "x"], namespace="team")])
    assert raw_scores(plugin, found, make_pod()) == {"n1": 0}


def test_defaults() -> None:
    defaults = {"defaultProfileNamespace": "default", "defaultProfileName": "all-syscalls"}
    for arguments in ({}, dict.fromkeys(defaults, ""), dict.fromkeys(defaults)):
        assert SySched.read_arguments(arguments, ()).value == defaults


# ------------------------------------------------------------------------------------------------------- what is kept


def test_one_plugin_sees_what_changes() -> None:
    plugin, found, pod = SySched(), cluster(["z-seccomp"], []), confined("x-seccomp")
    assert raw_scores(plugin, found, pod) == numbered(2, 21)
    found.add_pod(other := confined("x-seccomp", "other", "n2"))
    assert raw_scores(plugin, found, pod) == numbered(2, 0)
    found.cache.objects.put(profile("z-seccomp", SHARED))
    assert raw_scores(plugin, found, pod) == numbered(1, 0)
    found.remove_pod(other)
    assert raw_scores(plugin, found, pod) == numbered(1, 21)
    found.cache.remove_node("n1")
    assert raw_scores(plugin, found, pod) == {"n2": 21}
    assert raw_scores(plugin, cluster(["far"]), pod) == {"n1": 51}, "another cluster"


def test_nodes_that_did_not_change_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, found, pod = SySched(), cluster(["z-seccomp"] * 3, ["far"] * 3), confined("x-seccomp")
    looked: list[Pod] = []
    of_pod = SyscallSets.of_pod

    def watched(self: SyscallSets, each: Pod) -> int:
        looked.append(each)
        return of_pod(self, each)

    monkeypatch.setattr(SyscallSets, "of_pod", watched)

    def looks() -> int:
        looked.clear()
        cycle = found.cycle(pod)
        plugin.score_nodes(cycle, pod, cycle.nodes)
        return len(looked)

    assert looks() == 1 + 6
    assert looks() == 1
    found.add_pod(confined("far", "new", "n2"))
    assert looks() == 1 + 4
    found.cache.objects.put(profile("far", ["far"]))
    assert looks() == 1 + 7


def test_answers_depend_on_the_pods_of_the_node_on_profiles_and_on_annotations() -> None:
    assert (SySched.depends_on, SySched.reads, SySched.same_for_shape) == (NODE, (SeccompProfile,), False)


def test_a_profile_that_is_not_there_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    plugin, found = SySched(), cluster(["missing"] * 2, objects=[])
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            raw_scores(plugin, found, confined("missing"))
            found.cache.objects.put(A)
    told = "SeccompProfile default/{} does not exist and counts as empty"
    assert [record.getMessage() for record in caplog.records] == [told.format("missing"), told.format("all-syscalls")]


def test_pods_with_paths_of_their_own_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syscall_sets, "MOST_REMEMBERED", 3)
    found = sets(A)
    for i in range(10):
        assert found.of_pod(confined(f"missing-{i}")) == 0
    assert len(found._known) <= 3
    assert len(found._told) <= 3


# --------------------------------------------------------------------------------------------------- both forms agree

SETS = st.lists(st.frozensets(st.sampled_from("abcdefgh")), min_size=1, max_size=4)


@given(st.lists(SETS | st.just([]), min_size=1, max_size=4), st.frozensets(st.sampled_from("abcdefgh"), min_size=1))
def test_the_formula_of_the_original(nodes: list[list[frozenset[str]]], own: frozenset[str]) -> None:
    objects, names = [profile("own", own)], []
    for i, there in enumerate(nodes):
        objects += [profile(f"s{i}-{j}", calls) for j, calls in enumerate(there)]
        names.append([f"s{i}-{j}" for j in range(len(there))])
    expected = []
    for there in nodes:
        host = frozenset().union(*there)
        total = len(host - own) + sum(len((host | own) - calls) for calls in there)
        expected.append(total if there else len(own))
    assert raw_scores(SySched(), cluster(*names, objects=objects), confined("own")) == numbered(*expected)
