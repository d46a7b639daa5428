"""What every object of every variant is: named once, labelled, and safe to run."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Manifest = dict[str, Any]
Rendered = list[Manifest]
Render = Callable[..., Rendered]

ROOT = Path(__file__).parents[2]

# The least version of each kind that the API server serves, or that others define.
SERVED = {
    "coordination.k8s.io/v1": {"Lease"},
    "v1": {"ConfigMap", "Pod", "Service", "ServiceAccount"},
    "apps/v1": {"Deployment", "ReplicaSet"},
    "rbac.authorization.k8s.io/v1": {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
    "policy/v1": {"PodDisruptionBudget"},
    "networking.k8s.io/v1": {"NetworkPolicy"},
    "apiextensions.k8s.io/v1": {"CustomResourceDefinition"},
    "monitoring.coreos.com/v1": {"ServiceMonitor", "PodMonitor", "PrometheusRule"},
}
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}
RESTRICTED_VOLUMES = {"configMap", "secret", "emptyDir", "projected", "downwardAPI", "csi", "ephemeral"}
LABELS = {
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/component",
    "app.kubernetes.io/version",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
}


def pods(rendered: Rendered) -> Iterator[tuple[str, Manifest]]:
    """Every pod or template of one, with the name of its object."""
    for each in rendered:
        if each["kind"] in {"Deployment", "ReplicaSet"}:
            yield each["metadata"]["name"], each["spec"]["template"]
        elif each["kind"] == "Pod":
            yield each["metadata"]["name"], each


def only(rendered: Rendered, kind: str, name: str) -> Manifest:
    (found,) = [each for each in rendered if each["kind"] == kind and each["metadata"]["name"] == name]
    return found


def test_kinds_are_served(rendered: Rendered) -> None:
    strange = [each["kind"] for each in rendered if each["kind"] not in SERVED.get(each["apiVersion"], ())]
    assert strange == []


def test_names_are_unique_and_fit(rendered: Rendered) -> None:
    names = Counter((each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in rendered)
    assert [name for name, count in names.items() if count > 1] == []
    assert [name for _, _, name in names if len(name) > 63 and "." not in name] == []


def test_what_has_no_namespace_names_it(rendered: Rendered) -> None:
    """One release name may be used in two namespaces."""
    # The names of definitions are given, and they belong to the cluster.
    named = CLUSTER_SCOPED - {"CustomResourceDefinition"}
    names = [each["metadata"]["name"] for each in rendered if each["kind"] in named]
    assert [name for name in names if not name.endswith(".team")] == []


def test_what_has_a_namespace_says_which(rendered: Rendered) -> None:
    ours = [each for each in rendered if each["kind"] not in CLUSTER_SCOPED and "helm.sh/chart" in labels_of(each)]
    elsewhere = {
        (each["metadata"]["namespace"], each["metadata"]["name"])
        for each in ours
        if each["metadata"]["namespace"] != "team"
    }
    assert all(name.endswith(".team") for _, name in elsewhere), elsewhere
    assert {namespace for namespace, _ in elsewhere} <= {"kube-system", "default"}


def test_labels(rendered: Rendered) -> None:
    ours = [
        each
        for each in rendered
        if not each["metadata"]["name"].endswith(("-more", "power")) and each["kind"] != "CustomResourceDefinition"
    ]
    assert [each["metadata"]["name"] for each in ours if not set(labels_of(each)) >= LABELS] == []


def test_definitions_are_the_same_whichever_release_brings_them(render_values: Render) -> None:
    """Tools that render the chart without a cluster would let two releases overwrite each other for ever."""
    one, two = (
        [each for each in render_values(values, **place) if each["kind"] == "CustomResourceDefinition"]
        for values, place in (
            ({}, {"release": "one", "namespace": "team"}),
            ({"commonLabels": {"team": "b"}, "nameOverride": "x"}, {"release": "two", "namespace": "other"}),
        )
    )
    assert one == two
    assert {tuple(labels_of(each).items()) for each in one} == {(("app.kubernetes.io/part-of", "pilotage"),)}


def test_selectors_select_their_own_pods(rendered: Rendered) -> None:
    controllers = [each for each in rendered if each["kind"] in {"Deployment", "ReplicaSet"}]
    for each in controllers:
        wanted = each["spec"]["selector"]["matchLabels"].items()
        assert wanted <= each["spec"]["template"]["metadata"]["labels"].items()
        others = [other for other in controllers if other is not each]
        assert not any(wanted <= other["spec"]["template"]["metadata"]["labels"].items() for other in others)


def test_own_pods_have_the_clusters_scheduler(rendered: Rendered) -> None:
    """All but those that `helm test` wants placed by the release; the pod that looks must run where nothing works."""
    with_name = [name for name, pod in pods(rendered) if "schedulerName" in pod["spec"]]
    assert with_name == [name for name, _ in pods(rendered) if re.search(r"-test-[0-9]+$", name)]


def test_what_the_operator_writes_is_not_rendered(rendered: Rendered) -> None:
    assert not any(each["metadata"]["name"].endswith("-config") for each in rendered if each["kind"] == "ConfigMap")
    assert not any("pilotage.dev/config-hash" in str(each["metadata"]) for each in rendered)
    assert not any("pilotage.dev/config-hash" in str(pod["metadata"]) for _, pod in pods(rendered))


def test_nothing_has_a_finalizer(rendered: Rendered) -> None:
    assert not any("finalizers" in each["metadata"] for each in rendered)


def test_pods_pass_restricted_pod_security(rendered: Rendered) -> None:
    for name, pod in pods(rendered):
        spec = pod["spec"]
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert all(set(volume) - {"name"} <= RESTRICTED_VOLUMES for volume in spec.get("volumes", ())), name
        for container in spec["containers"]:
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            assert not any("hostPort" in port for port in container.get("ports", ())), name
            assert "host" not in str(container.get("livenessProbe", {}).get("httpGet", {}).keys()), name


def test_users_are_numbers_and_memory_has_a_limit_by_default(render: Render) -> None:
    for name, pod in pods(render()):
        context = pod["spec"]["securityContext"]
        assert (context["runAsUser"], context["runAsGroup"]) == (65532, 65532), name
        if "schedulerName" not in pod["spec"] and not name.endswith("-test"):
            assert pod["spec"]["containers"][0]["resources"]["limits"]["memory"] == "1Gi", name


def test_the_user_is_that_of_the_images() -> None:
    for name in ("scheduler", "operator"):
        assert "\nUSER 65532:65532\n" in (ROOT / f"Dockerfile.{name}").read_text(), name


def test_the_cluster_may_choose_the_user(render_values: Render) -> None:
    for name, pod in pods(render_values({"podSecurityContext": {"runAsUser": None, "runAsGroup": None}})):
        assert set(pod["spec"]["securityContext"]) == {"runAsNonRoot", "seccompProfile"}, name


def monitoring_namespace(name: str) -> Manifest:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


READERS = [{"name": name, "namespace": "monitoring"} for name in ("prometheus", "thanos")]
EVERYBODY: Manifest = {"namespaceSelector": {}}


@pytest.mark.parametrize(
    ("values", "visitors"),
    [
        pytest.param({}, [], id="nobody but the nodes by default"),
        pytest.param({"monitoring": {"readers": READERS}}, [monitoring_namespace("monitoring")], id="who may read"),
        pytest.param({"networkPolicy": {"from": [EVERYBODY]}}, [EVERYBODY], id="whom the values name"),
        pytest.param(
            {"monitoring": {"readers": READERS}, "networkPolicy": {"from": [{"podSelector": {}}]}},
            [monitoring_namespace("monitoring"), {"podSelector": {}}],
            id="both",
        ),
    ],
)
def test_who_may_reach_the_pods(render_values: Render, values: Manifest, visitors: list[Manifest]) -> None:
    rendered = render_values(values)
    for component, port in (("scheduler", "https"), ("operator", "metrics")):
        spec = only(rendered, "NetworkPolicy", f"mine-pilotage-{component}")["spec"]
        deployment = only(rendered, "Deployment", f"mine-pilotage-{component}")["spec"]
        assert spec["podSelector"] == deployment["selector"]
        assert spec["policyTypes"] == ["Ingress"], "what other policies forbid stays forbidden"
        allowed = [{"ports": [{"port": port, "protocol": "TCP"}], "from": visitors}] if visitors else []
        assert spec["ingress"] == allowed


def test_whom_the_pods_may_reach(render_values: Render) -> None:
    egress = [{"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]}]
    rendered = render_values({"networkPolicy": {"egress": egress}})
    for component in ("scheduler", "operator"):
        spec = only(rendered, "NetworkPolicy", f"mine-pilotage-{component}")["spec"]
        assert (spec["policyTypes"], spec["egress"]) == (["Ingress", "Egress"], egress)


def test_network_policies_can_be_left_out(render_values: Render) -> None:
    rendered = render_values({"networkPolicy": {"enabled": False}})
    assert not any(each["kind"] == "NetworkPolicy" for each in rendered)


def test_containers_cannot_write_and_tokens_are_asked_for(rendered: Rendered) -> None:
    for name, pod in pods(rendered):
        assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in pod["spec"]["containers"]), name
        assert pod["spec"]["automountServiceAccountToken"] is ("schedulerName" not in pod["spec"]), name
    accounts = [each for each in rendered if each["kind"] == "ServiceAccount"]
    assert all(each["automountServiceAccountToken"] is False for each in accounts)


def test_environment_variables_are_named_once(rendered: Rendered) -> None:
    """Helm 4 applies on the server, which refuses a name that is there twice."""
    for _, pod in pods(rendered):
        for container in pod["spec"]["containers"]:
            names = [variable["name"] for variable in container.get("env", ())]
            assert len(names) == len(set(names))


def test_mounts_have_their_volumes(rendered: Rendered) -> None:
    for name, pod in pods(rendered):
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", ())}
        mounts = {mount["name"] for each in pod["spec"]["containers"] for mount in each.get("volumeMounts", ())}
        assert volumes == mounts, name


def test_ports_have_their_names(rendered: Rendered) -> None:
    named = {port["name"] for _, pod in pods(rendered) for port in pod["spec"]["containers"][0].get("ports", ())}
    used = {
        probe["httpGet"]["port"]
        for _, pod in pods(rendered)
        for key, probe in pod["spec"]["containers"][0].items()
        if key.endswith("Probe")
    }
    used |= {port["targetPort"] for each in rendered if each["kind"] == "Service" for port in each["spec"]["ports"]}
    assert used <= named == {"https", "health", "metrics", "api"}


def test_bindings_bind_what_is_there(rendered: Rendered) -> None:
    roles = {(each["kind"], each["metadata"]["name"]) for each in rendered if each["kind"].endswith("Role")}
    for each in (each for each in rendered if each["kind"].endswith("Binding")):
        role = each["roleRef"]["kind"], each["roleRef"]["name"]
        assert role in roles or role == ("Role", "extension-apiserver-authentication-reader")


def test_the_schedulers_arguments(render: Render) -> None:
    deployment = only(render(), "Deployment", "mine-pilotage-scheduler")
    assert deployment["spec"]["replicas"] == 2
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert deployment["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "run",
        "--config-map=team/mine-pilotage-config",
        "--leader-elect=true",
        "--leader-elect-resource-name=mine-pilotage-scheduler",
        "--leader-elect-resource-namespace=team",
        "--crash-record=/tmp/crash-record",
        "--profiling=false",
        "--api-port=10260",
        "--logging-format=text",
        "--v=2",
    ]


def test_the_operators_arguments(render: Render) -> None:
    deployment = only(render(), "Deployment", "mine-pilotage-operator")
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})
    assert deployment["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "run",
        "--namespace=team",
        "--release=mine",
        "--fullname=mine-pilotage",
        "--scheduler-selector=app.kubernetes.io/name=pilotage,app.kubernetes.io/instance=mine,"
        "app.kubernetes.io/component=scheduler",
        "--scheduler-service-account=mine-pilotage-scheduler",
        "--owner=mine-pilotage-operator.team",
        "--values-file=/etc/pilotage/values/profiles.yaml",
        "--controllers=AppGroup,ElasticQuota,PodGroup",
        "--credential-secrets=",
        "--allowed-hosts=",
        "--metrics-port=8081",
        "--log-format=text",
    ]


def test_one_replica_needs_no_lease(render: Render) -> None:
    rendered = render("single-replica")
    deployment = only(rendered, "Deployment", "mine-pilotage-scheduler")
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert not any(each["kind"] == "PodDisruptionBudget" for each in rendered)


def test_custom_plugins_are_a_config_map_for_the_operator_and_restart_nothing(
    render: Render, render_values: Render
) -> None:
    first, second = render("custom-plugin"), render_values({"scheduler": {"customPlugins": {"a.py": "x = 1\n"}}})
    found = only(first, "ConfigMap", "mine-pilotage-plugins")
    assert list(found["data"]) == ["name_score.py"]
    assert found["metadata"]["labels"]["pilotage.dev/plugins"] == "mine"
    before, after = (only(each, "Deployment", "mine-pilotage-scheduler") for each in (first, second))
    assert before == after


def test_a_change_of_profiles_restarts_the_operator_alone(render_values: Render) -> None:
    first, second = (render_values({"profiles": [{"name": name}]}) for name in ("a", "b"))
    names = ("mine-pilotage-scheduler", "mine-pilotage-operator")
    same = [only(first, "Deployment", name) == only(second, "Deployment", name) for name in names]
    assert same == [True, False]


@pytest.mark.parametrize("release", ["a.b", "1st", "x" * 53, "a-pilotage-of-which-the-name-is-cut-at-a--dash"])
def test_names_of_strange_releases_are_names(render_values: Render, release: str) -> None:
    rendered = render_values({}, release=release)
    names = [each["metadata"]["name"] for each in rendered if each["kind"] in {"Service", "Deployment", "ConfigMap"}]
    assert all(re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", name) for name in names), names


def test_releases_share_no_name(render_values: Render) -> None:
    """Two names in one namespace, and one name in two namespaces."""
    releases = [("one", "team"), ("two", "team"), ("one", "other"), ("x" * 52 + "1", "team"), ("x" * 52 + "2", "team")]
    found = [
        {
            (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
            for each in render_values({"crds": {"install": False}}, release=release, namespace=namespace)
        }
        for release, namespace in releases
    ]
    assert len(set.union(*found)) == sum(len(each) for each in found)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param(None, "localhost/pilotage-scheduler:0.1.0", id="nothing"),
        pytest.param("there/x:1", "there/x:1", id="one string"),
        pytest.param({"tag": "2"}, "localhost/pilotage-scheduler:2", id="a tag"),
        pytest.param({"registry": "", "repository": "x"}, "x:0.1.0", id="no registry"),
        pytest.param(
            {"registry": "r", "repository": "x", "tag": "2", "digest": f"sha256:{'0' * 64}"},
            f"r/x@sha256:{'0' * 64}",
            id="a digest counts before a tag",
        ),
    ],
)
def test_images(render_values: Render, image: Any, expected: str) -> None:
    deployment = only(render_values({"scheduler": {"image": image}}), "Deployment", "mine-pilotage-scheduler")
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == expected


def labels_of(manifest: Manifest) -> Manifest:
    found: Manifest = manifest["metadata"].get("labels", {})
    return found
