"""SchedulerProfile on a real API server: the definition is served, good resources are taken, bad ones told why not."""

import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from generate.profile_crd import definition
from kit.control_plane import ControlPlane
from localcluster.paths import REPOSITORY
from pilotage.cli import main
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.checking import checked
from pilotage.scheduler_profiles.judge import Judge

CRD = REPOSITORY / "charts/pilotage/files/crds/schedulerprofiles.pilotage.dev.yaml"
NAME = "schedulerprofiles.pilotage.dev"
JUDGE = Judge(built_in())
# Configurations of scheduler-plugins, where they are at hand.
SAMPLES = (REPOSITORY.parent / "shared/samples/scheduler-plugins").glob("*-config*.yaml")
EXAMPLES = sorted((REPOSITORY / "examples/profiles").glob("*.yaml"))
EXTENDER = {"urlPrefix": "http://broker.tools:8888", "filterVerb": "filter"}
TLS_EXTENDER = EXTENDER | {"urlPrefix": "https://broker.tools:8888"}


def profile(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "pilotage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def plugin(**fields: Any) -> dict[str, Any]:
    return profile("bad", plugins=[{"name": "Priority"} | fields])


def extender(**fields: Any) -> dict[str, Any]:
    return profile("bad", extenders=[EXTENDER | fields])


def tls(**fields: Any) -> dict[str, Any]:
    return profile("bad", extenders=[TLS_EXTENDER | {"tlsConfig": fields}])


def requiring(**requirement: Any) -> dict[str, Any]:
    return profile("bad", nodes={"selector": {"matchExpressions": [{"key": "pool", **requirement}]}})


BAD = [
    pytest.param(plugin(weight=-1), "spec.plugins[0].weight", "greater than or equal to 1", id="a negative weight"),
    pytest.param(plugin(weight="10"), "spec.plugins[0].weight", "must be of type integer", id="a weight in quotes"),
    pytest.param(plugin(wieght=1), 'unknown field "spec.plugins[0].wieght"', "strict", id="an unknown field"),
    pytest.param(
        plugin(points=["Score"]), "spec.plugins[0].points[0]", 'supported values: "preEnqueue"', id="an unknown point"
    ),
    pytest.param(
        plugin(points=["score", "score"]), "spec.plugins[0].points[1]", "Duplicate value", id="a point listed twice"
    ),
    pytest.param(
        profile("bad", plugins=[{"name": "Priority"}, {"name": "Priority", "weight": 2}]),
        "spec.plugins[1]",
        "Duplicate value",
        id="a plugin listed twice",
    ),
    pytest.param(profile("bad", plugins=[{"weight": 1}]), "spec.plugins[0].name", "Required", id="a plugin unnamed"),
    pytest.param(plugin(name="*", enabled=False), "spec.plugins[0]", "set base: None", id="all plugins at once"),
    pytest.param(
        plugin(weight=2, points=["filter"]), "spec.plugins[0]", "add score to points", id="a weight without scores"
    ),
    pytest.param(plugin(args="x"), "spec.plugins[0].args", "must be of type object", id="arguments that are no map"),
    pytest.param(
        profile("bad", plugins=[{"name": f"P{i}"} for i in range(300)]), "spec.plugins", "at most 200", id="300 plugins"
    ),
    pytest.param(
        profile("bad", plugins=[{"name": name, "points": ["queueSort"]} for name in ("A", "B")]),
        "spec.plugins",
        "only one plugin can sort the queue",
        id="two orders of the queue",
    ),
    pytest.param(
        profile("bad", schedulerName="two words"), "spec.schedulerName", "should match", id="a name that is none"
    ),
    pytest.param(profile("x" * 64), "SchedulerProfile", "set spec.schedulerName", id="a resource's name that is long"),
    pytest.param(profile("bad", instance="a/b/c"), "spec.instance", "should match", id="a release that is none"),
    pytest.param(profile("bad", base="Nothing"), "spec.base", '"Kubernetes", "None"', id="an unknown base"),
    pytest.param(
        profile("bad", percentageOfNodesToScore=101),
        "spec.percentageOfNodesToScore",
        "less than or equal to 100",
        id="more than all nodes",
    ),
    pytest.param(
        profile("bad", rollout={"strategy": "Recreate"}),
        "spec.rollout.strategy",
        'supported values: "HotReload", "Restart"',
        id="an unknown strategy",
    ),
    pytest.param(
        profile("bad", rollout={"strategy": "Restart", "progressDeadlineSeconds": 10}),
        "spec.rollout",
        "set progressDeadlineSeconds to 15 or more",
        id="a restart in no time",
    ),
    pytest.param(
        profile("bad", extenders=[EXTENDER | {"bindVerb": "bind"}] * 2),
        "spec.extenders",
        "only one extender can bind pods",
        id="two extenders that bind",
    ),
    pytest.param(
        profile("bad", extenders=[{"urlPrefix": "http://broker.tools:8888"}]),
        "spec.extenders[0]",
        "an extender without a verb is never called",
        id="an extender without a verb",
    ),
    pytest.param(
        extender(prioritizeVerb="score"), "spec.extenders[0]", "add weight", id="an extender's scores without a weight"
    ),
    pytest.param(extender(urlPrefix="broker:80"), "spec.extenders[0].urlPrefix", "should match", id="no http"),
    pytest.param(extender(enableHTTPS=True), "spec.extenders[0]", "TLS requires https", id="HTTPS by HTTP"),
    pytest.param(extender(tlsConfig={"serverName": "x"}), "spec.extenders[0]", "TLS requires https", id="TLS by HTTP"),
    pytest.param(
        tls(insecure=True, caFile="/ca"), "spec.extenders[0].tlsConfig", "remove insecure", id="a CA for nothing"
    ),
    pytest.param(
        tls(certFile="/cert"), "spec.extenders[0].tlsConfig", "needs its key", id="a certificate without its key"
    ),
    pytest.param(
        tls(certSecretRef={"name": "s", "key": "tls.crt"}),
        "spec.extenders[0].tlsConfig",
        "needs its key",
        id="a certificate of a Secret without its key",
    ),
    pytest.param(
        tls(certFile="/cert", keyFile="/key", keySecretRef={"name": "s", "key": "tls.key"}),
        "spec.extenders[0].tlsConfig",
        "remove one of the two",
        id="a key in a file and in a Secret",
    ),
    pytest.param(profile("bad", sharing={"spread": 101}), "spec.sharing.spread", "less than or equal", id="all scores"),
    pytest.param(
        profile("bad", nodes={"selector": {}, "taint": True}),
        "spec.nodes",
        "would be tainted",
        id="all nodes tainted",
    ),
    pytest.param(
        profile("x" * 64, schedulerName="short", nodes={"selector": {"matchLabels": {"a": "b"}}, "taint": True}),
        "SchedulerProfile",
        "shorten metadata.name, or remove spec.nodes.taint",
        id="a name that is no value of a taint",
    ),
    pytest.param(requiring(operator="In"), "matchExpressions[0]", "In and NotIn require values", id="one of no values"),
    pytest.param(
        requiring(operator="Exists", values=["x"]),
        "matchExpressions[0]",
        "Exists and DoesNotExist accept no values",
        id="values of what is only to be there",
    ),
    pytest.param(
        requiring(operator="Gt", values=["1"]), "matchExpressions[0].operator", "supported values", id="an operator"
    ),
]


@pytest.fixture(scope="module", autouse=True)
def served(control_plane: ControlPlane) -> Iterator[None]:
    """The definition, as the chart ships it; removed afterwards with all profiles."""
    kubectl = control_plane.kubectl
    kubectl("apply", "--server-side", "-f", str(CRD))
    kubectl.until_established(f"crd/{NAME}")
    deadline, well = time.monotonic() + 60, 0
    # Short names and explanations are told a moment after the resource itself is served; and where the definition was
    # deleted just before, they can go once more.
    while well < 5 and time.monotonic() < deadline:
        well = 0 if kubectl.attempt("explain", "schedprof.spec").returncode else well + 1
        time.sleep(0.3)
    yield
    kubectl.delete_definitions(NAME)


@pytest.fixture
def name(control_plane: ControlPlane) -> Iterator[str]:
    """A name for a profile of the test's own."""
    made = f"test-{uuid.uuid4().hex[:10]}"
    yield made
    control_plane.kubectl("delete", "schedprof", made, "--ignore-not-found")


def apply(control_plane: ControlPlane, manager: str, manifest: dict[str, Any]) -> str:
    words = ("apply", "--server-side", f"--field-manager={manager}", "-f", "-")
    done = control_plane.kubectl.attempt(*words, stdin=json.dumps(manifest))
    return done.stdout + done.stderr


def spec_of(control_plane: ControlPlane, name: str) -> Any:
    return control_plane.kubectl.get("schedprof", name)["spec"]


def test_the_schema_is_structural_and_its_names_are_accepted(control_plane: ControlPlane) -> None:
    conditions = control_plane.kubectl.get("crd", NAME)["status"]["conditions"]
    assert {condition["type"]: condition["status"] for condition in conditions} == {
        "NamesAccepted": "True",
        "Established": "True",
    }


def test_kubectl_explains_it(control_plane: ControlPlane) -> None:
    told = control_plane.kubectl("explain", "schedprof.spec.plugins")
    assert "The differences from the base, plugin by plugin." in told
    assert "-required-" in told
    assert "ENUM:" in control_plane.kubectl("explain", "schedulerprofile.spec.base")
    assert "one of preEnqueue, queueSort" in control_plane.kubectl("explain", "schedulerprofile.spec.plugins.points")


@pytest.mark.parametrize(("manifest", "where", "why"), BAD)
def test_a_bad_resource_is_refused_with_the_reason(
    control_plane: ControlPlane, manifest: dict[str, Any], where: str, why: str
) -> None:
    words = ("create", "--dry-run=server", "--validate=strict", "-f", "-")
    done = control_plane.kubectl.attempt(*words, stdin=json.dumps(manifest))
    assert done.returncode == 1, done.stdout
    assert where in done.stderr
    assert why in done.stderr


@pytest.mark.parametrize(("manifest", "where", "why"), BAD)
def test_what_an_api_server_refuses_is_refused_without_one(manifest: dict[str, Any], where: str, why: str) -> None:
    (found,) = checked([manifest], JUDGE)
    assert found.complaints


@pytest.mark.parametrize(
    "file", sorted([*(REPOSITORY / "examples/convert").glob("*.yaml"), *SAMPLES]), ids=lambda path: path.stem
)
def test_what_is_converted_is_taken(control_plane: ControlPlane, file: Path) -> None:
    made = CliRunner().invoke(main, ["convert", str(file)])
    assert made.exit_code == 0, made.stderr
    control_plane.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", stdin=made.stdout)


def test_every_rule_has_a_bad_resource() -> None:
    def messages(found: Any) -> Iterator[str]:
        if isinstance(found, dict):
            yield from (rule["message"] for rule in found.get("x-kubernetes-validations", ()))
        for inside in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
            yield from messages(inside)

    reasons = [str(case.values[2]) for case in BAD]
    assert [message for message in messages(definition()) if not any(reason in message for reason in reasons)] == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_taken_and_stay_as_they_are(control_plane: ControlPlane, name: str, path: Path) -> None:
    example = yaml.safe_load(path.read_text())
    example["metadata"]["name"] = name
    words = ("apply", "--server-side", "--validate=strict", "-f", "-")
    control_plane.kubectl(*words, stdin=json.dumps(example))
    stored = spec_of(control_plane, name)
    entries = {entry["name"]: entry for entry in stored.get("plugins", ())}
    assert entries == {entry["name"]: entry for entry in example["spec"].get("plugins", ())}
    assert set(stored) == {"base", *example["spec"]}


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param({"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile"}, id="nothing at all"),
        pytest.param(profile("", schedulerName="default-scheduler"), id="the name of the cluster's own scheduler"),
        pytest.param(profile("", schedulerName="example.com/Batch_1", instance=""), id="a name with a prefix"),
        pytest.param(profile("", base="None", percentageOfNodesToScore=0), id="no base"),
        pytest.param(
            profile("", extenders=[TLS_EXTENDER | {"tlsConfig": {"caData": "Y2E="}, "httpTimeout": "1m1.5s"}]),
            id="an extender with TLS",
        ),
        pytest.param(
            profile(
                "",
                plugins=[{"name": f"Plugin{i}", "points": ["filter", "score"], "weight": 1} for i in range(200)],
                extenders=[EXTENDER] * 16,
            ),
            id="as large as it may be",
        ),
    ],
)
def test_other_good_resources_are_taken(control_plane: ControlPlane, name: str, manifest: dict[str, Any]) -> None:
    control_plane.kubectl.create(manifest | {"metadata": {"name": name}})


def test_a_long_name_needs_a_shorter_one_for_pods(control_plane: ControlPlane) -> None:
    manifest = profile("x" * 64, schedulerName="short")
    words = ("create", "--dry-run=server", "-f", "-")
    assert "created" in control_plane.kubectl(*words, stdin=json.dumps(manifest))


def test_events_can_name_a_scheduler_of_63_characters_and_no_more(control_plane: ControlPlane, namespace: str) -> None:
    """The reason for the bound of schedulerName: without it a scheduler could not tell why pods wait."""

    def told(controller: str) -> str:
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "waits", "namespace": namespace},
            "eventTime": "2030-01-01T00:00:00.000000Z",
            "type": "Normal",
            "reason": "Waits",
            "action": "Waits",
            "reportingController": controller,
            "reportingInstance": "x",
            "regarding": {"kind": "Pod", "name": "p", "namespace": namespace},
        }
        done = control_plane.kubectl.attempt("create", "--dry-run=server", "-f", "-", stdin=json.dumps(event))
        return done.stdout + done.stderr

    assert "created" in told("x" * 63)
    assert "reportingController" in told("x" * 64)
    assert "reportingController" in told("two words")


def test_two_people_each_own_a_plugin(control_plane: ControlPlane, name: str) -> None:
    apply(control_plane, "one", profile(name, plugins=[{"name": "Priority", "weight": 10}]))
    apply(control_plane, "two", profile(name, plugins=[{"name": "ImageLocality", "enabled": False}]))
    assert {entry["name"] for entry in spec_of(control_plane, name)["plugins"]} == {"Priority", "ImageLocality"}

    refused = apply(control_plane, "two", profile(name, plugins=[{"name": "Priority", "weight": 20}]))
    assert 'conflict with "one": .spec.plugins[name="Priority"].weight' in refused

    apply(control_plane, "one", profile(name))
    (left,) = spec_of(control_plane, name)["plugins"]
    assert left == {"name": "ImageLocality", "enabled": False}


def test_one_field_toggles_a_plugin_of_somebody_else(control_plane: ControlPlane, name: str) -> None:
    whole = {"name": "Priority", "weight": 10, "args": {"labelKey": "example.com/rank"}}
    apply(control_plane, "one", profile(name, plugins=[whole]))
    apply(control_plane, "two", profile(name, plugins=[{"name": "Priority", "enabled": False}]))
    assert spec_of(control_plane, name)["plugins"] == [whole | {"enabled": False}]
    control_plane.kubectl(
        *("patch", "schedprof", name, "--type=json"),
        *("-p", '[{"op": "add", "path": "/spec/plugins/0/enabled", "value": true}]'),
    )
    assert spec_of(control_plane, name)["plugins"] == [whole | {"enabled": True}]


def test_kubectl_lists_waits_and_prints(control_plane: ControlPlane, name: str, tmp_path: Path) -> None:
    kubectl = control_plane.kubectl
    kubectl.create(profile(name, plugins=[{"name": "Priority"}]))
    condition = {"type": "Ready", "status": "True", "reason": "Acknowledged", "message": "both replicas run it"}
    status = {
        "schedulerName": "rank",
        "pluginCount": 21,
        "replicas": "2/2",
        "conditions": [condition | {"lastTransitionTime": "2030-01-01T00:00:00Z", "observedGeneration": 1}],
    }
    kubectl("patch", "schedprof", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    kubectl("wait", "--for=condition=Ready", f"schedprof/{name}", "--timeout=10s")
    head, line = kubectl("get", "schedprof", name).splitlines()
    assert head.split() == ["NAME", "SCHEDULER", "PLUGINS", "READY", "REASON", "REPLICAS", "AGE"]
    assert line.split()[:6] == [name, "rank", "21", "True", "Acknowledged", "2/2"]
    head, line = kubectl("get", "schedprof", name, "-o", "wide").splitlines()
    assert head.split()[-1] == "MESSAGE"
    assert line.endswith("both replicas run it")
    # What kubectl remembers of the API may have kinds in it that other tests have taken away since.
    found = kubectl("get", "pilotage", "-o", "name", f"--cache-dir={tmp_path}")
    assert f"schedulerprofile.pilotage.dev/{name}" in found


def test_who_writes_the_spec_does_not_write_the_status(control_plane: ControlPlane, name: str) -> None:
    control_plane.kubectl.create(profile(name) | {"status": {"replicas": "9/9"}})
    assert "status" not in control_plane.kubectl.get("schedprof", name)
