"""From files to objects: what is found, what is completed, what is wrong and where."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pilotage.kinds.storage import PersistentVolumeClaim
from pilotage.kinds.workloads import Namespace
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.offline import manifest_files
from pilotage.offline.manifests import BadManifests, Manifests, read_manifests
from pilotage.testing import node_manifest, pod_manifest

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(*contents: Any, name: str = "input.yaml") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_text = isinstance(contents[0], str)
        path.write_text(contents[0] if is_text else yaml.safe_dump_all(contents))
        return str(path)

    return write_file


@pytest.fixture
def read(write: Write) -> Callable[..., Manifests]:
    return lambda *contents: read_manifests([write(*contents)])


@pytest.fixture
def problems(write: Write) -> Callable[..., list[str]]:
    """Return what is wrong, without the folder of the file."""

    def told(*contents: Any) -> list[str]:
        file = write(*contents)
        with pytest.raises(BadManifests) as caught:
            read_manifests([file])
        return [problem.replace(f"{Path(file).parent}/", "") for problem in caught.value.problems]

    return told


def a_list(*items: Any, kind: str = "List") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "items": list(items)}


def bare(manifest: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind")}


# ------------------------------------------------------------------------------------------------------ what is found


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param([node_manifest("n1"), pod_manifest("p")], id="several documents"),
        pytest.param([a_list(node_manifest("n1"), pod_manifest("p"))], id="a list"),
        pytest.param([None, node_manifest("n1"), None, pod_manifest("p"), None], id="empty documents between"),
        pytest.param([a_list(bare(node_manifest("n1")), kind="NodeList"), pod_manifest("p")], id="a list of nodes"),
        pytest.param([json.dumps(a_list(node_manifest("n1"), pod_manifest("p")))], id="JSON"),
        pytest.param([json.dumps(node_manifest("n1")) + json.dumps(pod_manifest("p"))], id="JSON after JSON"),
        pytest.param(
            [json.dumps(node_manifest("n1")) + "\n---\n" + json.dumps(pod_manifest("p"), indent=1)],
            id="JSON with dashes",
        ),
    ],
)
def test_every_form_of_input(contents: list[Any], read: Callable[..., Manifests]) -> None:
    found = read(*contents)
    assert ([node.name for node in found.nodes], [pod.key for pod in found.pods]) == (["n1"], ["default/p"])


def test_a_large_dump_takes_the_fast_way(read: Callable[..., Manifests]) -> None:
    text = json.dumps(a_list(*(node_manifest(f"n{i}") for i in range(5000))))
    assert len(text) > manifest_files.MACHINE_WRITTEN
    assert len(read(text).nodes) == 5000
    assert len(read(text + json.dumps(pod_manifest())).objects) == 5002


def test_a_large_dump_that_is_broken_is_told_as_any_other(problems: Callable[..., list[str]]) -> None:
    text = json.dumps(a_list(*(node_manifest(f"n{i}") for i in range(5000))))[:-2]
    assert problems(text) == ["input.yaml, document 1, line 1: invalid JSON: Expecting ',' delimiter"]


def test_places_that_refer_to_each_other_are_still_two(read: Callable[..., Manifests]) -> None:
    pods = """
    apiVersion: v1
    kind: List
    items:
    - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: &spec {containers: [{name: c}]}}
    - {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {<<: *spec, hostNetwork: true}}
    """
    assert [(pod.name, pod.spec.host_network) for pod in read(pods).pods] == [("a", False), ("b", True)]


def test_a_folder_is_read_in_order_with_all_that_is_below(write: Write, tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "below/c.json", ".hidden/d.yaml", "below/..data/e.yaml", "f.txt"):
        write(json.dumps(pod_manifest(Path(name).stem)), name=name)
    assert [pod.name for pod in read_manifests([str(tmp_path)]).pods] == ["a", "b", "c"]


def test_a_file_that_is_named_twice_is_read_once(write: Write, tmp_path: Path) -> None:
    file = write(pod_manifest("p"))
    assert len(read_manifests([file, str(tmp_path), file]).pods) == 1


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = yaml.safe_dump(pod_manifest("p")).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert len(read_manifests(["-"]).pods) == 1


def test_other_kinds_are_counted(read: Callable[..., Manifests]) -> None:
    others = [
        {"apiVersion": "apps/v1", "kind": "Deployment"},
        {"apiVersion": "apps/v1", "kind": "Deployment"},
        {"apiVersion": "serving.knative.dev/v1", "kind": "Service"},
    ]
    assert read(*others).left_out == {"Deployment": 2, "Service.serving.knative.dev": 1}


def test_pods_that_are_done_and_pods_that_leave_are_left_out(read: Callable[..., Manifests]) -> None:
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    done, gone, going = pod_manifest("done"), pod_manifest("gone"), pod_manifest("going", node="n1")
    gone["metadata"] |= leaving
    going["metadata"] |= leaving
    found = read(done | {"status": {"phase": "Succeeded"}}, gone, going)
    assert ([pod.name for pod in found.pods], found.finished, found.leaving) == (["going"], 1, 1)


# ------------------------------------------------------------------------------------------------------ what is wrong


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param("- 1", "an object is a map with apiVersion, kind and metadata, not a list", id="a list"),
        pytest.param("word", "an object is a map with apiVersion, kind and metadata, not 'word'", id="a word"),
        pytest.param("{}", "apiVersion: Required value", id="nothing"),
        pytest.param("kind: Pod", "apiVersion: Required value", id="no version"),
        pytest.param("apiVersion: v1", "kind: Required value", id="no kind"),
        pytest.param("apiVersion: apps/v1\nkind: Pod", '(Pod): apiVersion: this must be "v1"', id="another group"),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration",
            "pass it with --config",
            id="a configuration",
        ),
        pytest.param("apiVersion: v1\nkind: Pod", "(Pod default/): metadata: Required value", id="no metadata"),
        pytest.param("apiVersion: v1\nkind: Pod\nmetadata: {}", "metadata.name: Required value", id="no name"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: n}", "must be text, not false; put it into", id="a no"
        ),
        pytest.param("apiVersion: v1\nkind: Pod\nmetadata: {name: A_1}", 'Invalid value: "A_1"', id="a bad name"),
        pytest.param("a: [1", "line 2: while parsing a flow sequence", id="no YAML"),
        pytest.param("a: *x", "*x refers to nothing", id="a reference to nothing"),
        pytest.param("a: 1\na: 2", 'key "a" already set in map', id="a key twice"),
        pytest.param('{"a": 1, "a": 2}', 'key "a" already set in map', id="a key twice in JSON"),
        pytest.param("\x00", "line 1: a character that YAML does not allow", id="no text"),
    ],
)
def test_what_is_no_object(content: str, told: str, problems: Callable[..., list[str]]) -> None:
    first = problems(content)[0]
    assert first.startswith("input.yaml, document 1")
    assert told in first


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param({"containers": 5}, "spec.containers: this must be a list, not 5", id="no list"),
        pytest.param({"containers": ["c"]}, 'spec.containers[0]: this must be a map, not "c"', id="no map"),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1x"}}}]},
            "spec.containers[0].resources.requests[cpu]: '1x' is not a quantity: write it like 2, 0.5, 500m, 1e3 or",
            id="no quantity",
        ),
        pytest.param(
            {"containers": [{"name": "c"}, {"name": "d", "resources": {"limits": {"memory": -1}}}]},
            'spec.containers[1].resources.limits[memory]: Invalid value: "-1": must be greater than or equal to 0',
            id="a negative quantity",
        ),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"limits": {"cpu": [1]}}}]},
            "spec.containers[0].resources.limits[cpu]: this must be a quantity, not [1]",
            id="a list for a quantity",
        ),
        pytest.param(
            {"nodeSelector": {"a": 1}}, "spec.nodeSelector.a: this must be text, not 1; put it", id="a number"
        ),
        pytest.param({"priority": "high"}, 'spec.priority: this must be a whole number, not "high"', id="a text"),
        pytest.param(
            {"priorityClassName": "high"},
            "spec.priorityClassName: no PriorityClass with name high was found; add it to the files (there are: "
            "system-cluster-critical, system-node-critical)",
            id="an unknown class",
        ),
        pytest.param(
            {"priorityClassName": "system-node-critical", "priority": 1},
            "spec.priority: the PriorityClass system-node-critical has the value 2000001000, not 1; leave spec.",
            id="another priority than that of the class",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "x", "labelSelector": {}, "matchLabelKeys": "a"}
                        ]
                    }
                }
            },
            "spec.affinity: matchLabelKeys: this must be a list of label keys, not 'a'",
            id="keys that are no list",
        ),
    ],
)
def test_what_is_wrong_with_a_pod(change: dict[str, Any], told: str, problems: Callable[..., list[str]]) -> None:
    (problem,) = problems(node_manifest("n1"), pod_manifest("web-1", spec=change))
    assert problem.startswith(f"input.yaml, document 2 (Pod default/web-1): {told}")


def test_all_of_it_is_told_at_once(problems: Callable[..., list[str]]) -> None:
    pod = pod_manifest("p", labels={"a": 1, "b": True}, cpu="1x", memory="x")  # type: ignore[dict-item]
    found = problems(pod, a_list(pod_manifest("q"), node_manifest("n1", cpu="4q")), "word")
    assert [problem.partition(": ")[0] + ": " + problem.split(": ")[1] for problem in found] == [
        "input.yaml, document 3: an object is a map with apiVersion, kind and metadata, not 'word'",
        "input.yaml, document 1 (Pod default/p): metadata.labels[a]",
        "input.yaml, document 1 (Pod default/p): metadata.labels[b]",
        "input.yaml, document 1 (Pod default/p): spec.containers[0].resources.requests[cpu]",
        "input.yaml, document 1 (Pod default/p): spec.containers[0].resources.requests[memory]",
        "input.yaml, document 2, items[1] (Node n1): status.allocatable[cpu]",
        "input.yaml, document 2, items[1] (Node n1): status.capacity[cpu]",
    ]


def test_no_more_than_twenty_are_shown(write: Write) -> None:
    with pytest.raises(BadManifests) as caught:
        read_manifests([write(*({"kind": "Pod"} for _ in range(30)))])
    lines = str(caught.value).splitlines()
    assert (len(lines), lines[-1], len(caught.value.problems)) == (21, "... and 10 more", 30)


def test_the_same_object_twice_is_told_with_both_places(problems: Callable[..., list[str]]) -> None:
    assert problems(pod_manifest("p"), a_list(pod_manifest("p"))) == [
        "input.yaml, document 2, items[0] (Pod default/p): the same object is in input.yaml, document 1 already; "
        "keep one of the two"
    ]


def test_a_copy_that_kept_its_uid_is_told(problems: Callable[..., list[str]]) -> None:
    one, other = pod_manifest("one"), pod_manifest("other")
    one["metadata"]["uid"] = other["metadata"]["uid"] = "7"
    assert problems(one, other) == [
        "input.yaml, document 2 (Pod default/other): metadata.uid: input.yaml, document 1 (Pod default/one) has the "
        "same one; remove it from the copy"
    ]


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadManifests) as caught:
        read_manifests(["/nowhere/x.yaml", str(tmp_path), "/dev/null", "/dev/zero"])
    assert caught.value.problems == [
        "/nowhere/x.yaml: no such file or folder",
        f"{tmp_path}: there is no file in it that ends in .yaml, .yml, .json",
        "/dev/null: this is neither a file nor a folder",
        "/dev/zero: this is neither a file nor a folder",
    ]


def test_a_value_inside_of_values_without_end(problems: Callable[..., list[str]]) -> None:
    assert problems("[" * 5000) == ["input.yaml, document 1, line 1: nested deeper than 100 levels"]


def test_a_large_value_inside_of_values_without_end(problems: Callable[..., list[str]]) -> None:
    deep = '{"a":' * 300_000
    assert problems(deep) == ["input.yaml, document 1: nested deeper than 100 levels"]


# -------------------------------------------------------------------------------------- what an API server would add


def one(read: Callable[..., Manifests], pod: dict[str, Any], *others: dict[str, Any]) -> Pod:
    return read(pod, *others).pods[0]


def test_a_pod_gets_what_every_pod_has(read: Callable[..., Manifests]) -> None:
    pod = one(read, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": None}})
    assert (pod.key, pod.uid, pod.scheduler_name, pod.priority) == (
        "default/p",
        "Pod/default/p",
        "default-scheduler",
        0,
    )
    assert pod.spec.preemption_policy == "PreemptLowerPriority"


def test_a_name_is_made_of_a_prefix(read: Callable[..., Manifests]) -> None:
    pods = [pod_manifest("x") | {"metadata": {"generateName": "job-"}} for _ in range(2)]
    assert [pod.name for pod in read(*pods).pods] == ["job-1", "job-2"]


def test_requests_default_to_limits(read: Callable[..., Manifests]) -> None:
    both = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}}
    limits = {"resources": {"limits": {"cpu": "3"}}}
    pod = one(
        read, pod_manifest(spec={"containers": [{"name": "a", **both}], "initContainers": [{"name": "b", **limits}]})
    )
    assert pod.requests == {"cpu": 3000, "memory": 1 << 30}
    assert pod.spec.containers[0].resources.requests == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("whole", "container", "requests"),
    [
        pytest.param({"limits": {"cpu": "4"}}, {}, {"cpu": 4000}, id="its limit, if no container asks"),
        pytest.param({"limits": {"cpu": "4"}}, {"cpu": "1"}, {"cpu": 1000}, id="what its containers ask for"),
        pytest.param({"requests": {"cpu": "2"}}, {"memory": "1Gi"}, {"cpu": 2000, "memory": 1 << 30}, id="both"),
        pytest.param(
            {"limits": {"hugepages-2Mi": "4Mi"}}, {}, {"hugepages-2Mi": 4 << 20}, id="huge pages by its limit"
        ),
        pytest.param({}, {"cpu": "1"}, {"cpu": 1000}, id="nothing, if it asks for nothing as a whole"),
    ],
)
def test_what_a_pod_asks_for_as_a_whole(
    whole: dict[str, Any], container: dict[str, str], requests: dict[str, int], read: Callable[..., Manifests]
) -> None:
    assert one(read, pod_manifest(requests=container, spec={"resources": whole})).requests == requests


def test_ports_of_the_host_network_are_taken_on_the_host(read: Callable[..., Manifests]) -> None:
    containers = [{"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 81, "protocol": "UDP"}]}]
    pod = one(read, pod_manifest(spec={"hostNetwork": True, "containers": containers}))
    assert [port[1:] for port in pod.shape.host_ports] == [("TCP", 80), ("UDP", 81)]
    assert one(read, pod_manifest(spec={"containers": containers})).shape.host_ports == ()


def priority_class(name: str, value: int, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


@pytest.mark.parametrize(
    ("spec", "classes", "priority", "policy"),
    [
        pytest.param({"priorityClassName": "high"}, [priority_class("high", 9)], 9, "PreemptLowerPriority", id="class"),
        pytest.param(
            {"priorityClassName": "polite"},
            [priority_class("polite", 8, preemptionPolicy="Never")],
            8,
            "Never",
            id="a class that evicts nobody",
        ),
        pytest.param({}, [priority_class("usual", 3, globalDefault=True)], 3, "PreemptLowerPriority", id="the default"),
        pytest.param(
            {},
            [priority_class("a", 5, globalDefault=True), priority_class("b", 4, globalDefault=True)],
            4,
            "PreemptLowerPriority",
            id="of two defaults the lower one",
        ),
        pytest.param(
            {"priorityClassName": "system-cluster-critical"}, [], 2_000_000_000, "PreemptLowerPriority", id="system"
        ),
        pytest.param({"priority": 7}, [], 7, "PreemptLowerPriority", id="a number without a class"),
        pytest.param(
            {"priorityClassName": "x", "priority": 7}, [], 7, "PreemptLowerPriority", id="both, class unknown"
        ),
    ],
)
def test_priority(
    spec: dict[str, Any], classes: list[Any], priority: int, policy: str, read: Callable[..., Manifests]
) -> None:
    pod = one(read, pod_manifest(spec=spec), *classes)
    assert (pod.priority, pod.spec.preemption_policy) == (priority, policy)


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param([], ["not-ready", "unreachable"], id="none"),
        pytest.param([{"operator": "Exists"}], [], id="everything"),
        pytest.param(
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
            ["unreachable"],
            id="one of the two",
        ),
        pytest.param(
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}],
            ["not-ready", "unreachable"],
            id="another effect",
        ),
    ],
)
def test_pods_tolerate_lost_nodes_for_a_while(
    given: list[Any], added: list[str], read: Callable[..., Manifests]
) -> None:
    found = one(read, pod_manifest(tolerations=given)).spec.tolerations[len(given) :]
    assert [(each.key, each.effect) for each in found] == [(f"node.kubernetes.io/{key}", "NoExecute") for key in added]


def test_label_keys_of_pod_affinity_become_conditions(read: Callable[..., Manifests]) -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["version", "absent"],
        "mismatchLabelKeys": ["tenant"],
    }
    unlimited = {"topologyKey": "zone", "matchLabelKeys": ["version"]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    affinity = {
        "podAffinity": {required: [term, unlimited]},
        "podAntiAffinity": {preferred: [{"weight": 1, "podAffinityTerm": term}]},
    }
    pod = one(read, pod_manifest(labels={"version": "2", "tenant": "t"}, affinity=affinity))
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.pod_affinity is not None
    assert pod.spec.affinity.pod_anti_affinity is not None
    first, second = pod.spec.affinity.pod_affinity.required
    conditions = [("version", "In", ("2",)), ("tenant", "NotIn", ("t",))]
    for selector in (
        first.label_selector,
        pod.spec.affinity.pod_anti_affinity.preferred[0].pod_affinity_term.label_selector,
    ):
        assert selector is not None
        assert [(each.key, each.operator, each.values) for each in selector.match_expressions] == conditions
    assert second.label_selector is None


def test_a_pod_of_an_api_server_is_taken_as_it_is(read: Callable[..., Manifests]) -> None:
    manifest = pod_manifest(limits={"cpu": "1"}, priority_class="unknown", spec={"nodeSelector": None})
    manifest["metadata"]["uid"] = "7"
    pod = one(read, manifest, priority_class("usual", 3, globalDefault=True))
    assert (pod.uid, pod.requests, pod.priority, pod.spec.tolerations) == ("7", {}, 0, ())


def test_a_node_without_allocatable_has_its_capacity(read: Callable[..., Manifests]) -> None:
    node = node_manifest("n1", cpu=2)
    del node["status"]["allocatable"]
    (found,) = read(node).nodes
    assert (found.allocatable["cpu"], found.allowed_pods) == (2000, 110)


def test_a_node_gets_no_label_that_nobody_wrote(read: Callable[..., Manifests]) -> None:
    assert read({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}).nodes[0].labels == {}


def test_namespaces_carry_their_name_and_all_of_them_exist(read: Callable[..., Manifests]) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "x"}}}
    found = read(namespace, pod_manifest("p", namespace="a"), pod_manifest("q", namespace="b"))
    namespaces = {each.metadata.name: each.metadata.labels for each in found.objects if isinstance(each, Namespace)}
    assert namespaces == {
        "a": {"team": "x", "kubernetes.io/metadata.name": "a"},
        "b": {"kubernetes.io/metadata.name": "b"},
    }


@pytest.mark.parametrize(
    ("spec", "annotations", "name"),
    [
        pytest.param({}, {}, "newer", id="none: the newest default"),
        pytest.param({"storageClassName": ""}, {}, "", id="none on purpose"),
        pytest.param({"storageClassName": "mine"}, {}, "mine", id="one of its own"),
        pytest.param({}, {"volume.beta.kubernetes.io/storage-class": "old"}, "old", id="by the old annotation"),
    ],
)
def test_the_storage_class_of_a_claim(
    spec: dict[str, Any], annotations: dict[str, str], name: str, read: Callable[..., Manifests]
) -> None:
    classes = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {
                "name": each,
                "creationTimestamp": f"202{age}-01-01T00:00:00Z",
                "annotations": {"storageclass.kubernetes.io/is-default-class": default},
            },
        }
        for each, age, default in (("older", 1, "true"), ("newer", 2, "true"), ("newest", 3, "false"))
    ]
    metadata = {"name": "c", "annotations": annotations}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    found = next(each for each in read(claim, *classes).objects if isinstance(each, PersistentVolumeClaim))
    assert (found.class_name, found.metadata.namespace) == (name, "default")


def test_what_is_in_no_namespace_stays_out_of_all(read: Callable[..., Manifests]) -> None:
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "namespace": "default"}}
    found = read(volume).objects[0]
    assert not isinstance(found, Pod | Node)
    assert found.metadata.namespace == ""
