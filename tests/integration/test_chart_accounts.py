"""The accounts of an installed chart may do what is documented, and that is enough for scheduler and operator."""

import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from kubernetes.client import ApiClient, Configuration

from kit.control_plane import ControlPlane
from kit.documented_rights import CONTROLLERS, OPERATOR, PLUGINS, SCHEDULER, Right, documented, rights
from kit.fixtures import Nodes
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest, pod_manifest

CHART = str(REPOSITORY / "charts" / "pilotage")
CRDS = [path.name.removesuffix(".yaml") for path in (Path(CHART) / "files" / "crds").iterdir()]
PROGRAMS = Path(sys.executable).parent
# Groups that every service account is in.
GROUPS = ("system:serviceaccounts", "system:authenticated")


@dataclass(frozen=True)
class Release:
    """An installed chart."""

    control_plane: ControlPlane
    namespace: str

    @property
    def scheduler_name(self) -> str:
        return f"scheduler-{self.namespace}"

    def arguments(self, component: str) -> list[str]:
        """The command line that the chart gives a component."""
        found = self.control_plane.kubectl.get("deployment", f"mine-pilotage-{component}", "-n", self.namespace)
        words: list[str] = found["spec"]["template"]["spec"]["containers"][0]["args"]
        return words

    def pods(self, component: str) -> list[str]:
        """The pods of a component that nodes have."""
        selector = f"app.kubernetes.io/instance=mine,app.kubernetes.io/component={component}"
        listed = self.control_plane.kubectl.get("pods", "-n", self.namespace, "-l", selector)["items"]
        return [each["metadata"]["name"] for each in listed]


@pytest.fixture(scope="module")
def release(control_plane: ControlPlane) -> Iterator[Release]:
    """The chart in a namespace of its own; removed afterwards with its definitions."""
    namespace = f"accounts-{uuid.uuid4().hex[:8]}"
    control_plane.kubectl("create", "namespace", namespace)
    helm = control_plane.helm(4)
    values = (
        "--set",
        f"scheduler.name=scheduler-{namespace}",
        "--set",
        "crds.adopt=true",
        "--set",
        "controller.kinds=all,controller.taintNodes=true",
    )
    helm("install", "mine", CHART, "--namespace", namespace, "--take-ownership", *values)
    yield Release(control_plane, namespace)
    helm("uninstall", "mine", "--namespace", namespace, "--ignore-not-found")
    control_plane.kubectl.delete_definitions(*CRDS)
    control_plane.kubectl("delete", "namespace", namespace, "--wait=false")


def may(release: Release, account: str, namespace: str) -> set[Right]:
    """What the API server says that an account may do in a namespace, beyond what every account may."""
    everybody = _rules(release, f"system:serviceaccount:{release.namespace}:nobody", namespace)
    return _rules(release, f"system:serviceaccount:{release.namespace}:{account}", namespace) - everybody


def _rules(release: Release, user: str, namespace: str) -> set[Right]:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    groups = (*GROUPS, f"system:serviceaccounts:{release.namespace}")
    who = (f"--as={user}", *(f"--as-group={group}" for group in groups))
    answer = release.control_plane.kubectl(
        "create", "--raw", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "-f", "-", *who,
        stdin=json.dumps(review),
    )  # fmt: skip
    return set(rights(json.loads(answer)["status"]["resourceRules"], ""))


@pytest.mark.parametrize(
    ("account", "headings"),
    [("mine-pilotage-scheduler", (SCHEDULER, PLUGINS)), ("mine-pilotage-operator", (OPERATOR, CONTROLLERS))],
    ids=["scheduler", "operator"],
)
def test_accounts_may_do_what_is_documented(release: Release, account: str, headings: tuple[str, ...]) -> None:
    told = [right for heading in headings for right in documented(heading, "mine-pilotage", release.namespace)]
    for namespace in (release.namespace, "default", "elsewhere"):
        expected = {("", *right[1:]) for right in told if right[0] in {"cluster", namespace}}
        assert may(release, account, namespace) == expected, namespace


def test_their_rights_are_enough(
    release: Release, control_plane: ControlPlane, fake_nodes: Nodes, namespace: str, tmp_path: Path
) -> None:
    """The operator makes the profile of the values, both replicas acknowledge it, a pod is bound: nobody is refused."""
    fake_nodes(node_manifest("chart-accounts", cpu="8"))
    kubectl, logs = control_plane.kubectl, []
    with ExitStack() as stack:
        # Somebody else places the pods of the release, and kwok says that they run.
        stack.enter_context(control_plane.kube_scheduler())
        kubectl("-n", release.namespace, "rollout", "status", "deployment/mine-pilotage-operator", "--timeout=60s")
        kubectl("-n", release.namespace, "rollout", "status", "deployment/mine-pilotage-scheduler", "--timeout=60s")
        logs.append(stack.enter_context(operator(release, tmp_path)))
        logs += [stack.enter_context(scheduler(release, tmp_path, pod)) for pod in release.pods("scheduler")]
        kubectl("wait", f"schedprof/{release.scheduler_name}", "--for=create", "--timeout=60s")
        kubectl("wait", f"schedprof/{release.scheduler_name}", "--for=condition=Ready", "--timeout=60s")
        for name, cpu in (("ours", "1"), ("never", "100")):
            control_plane.create([pod_manifest(name, namespace=namespace, scheduler=release.scheduler_name, cpu=cpu)])
        kubectl("-n", namespace, "wait", "pod/ours", "--for=condition=Ready", "--timeout=60s")
        kubectl("-n", namespace, "wait", "pod/never", "--for=condition=PodScheduled=false", "--timeout=60s")
        events = ("get", "events", "-n", "default", "-o", "jsonpath={.items[*].involvedObject.name}")
        assert release.scheduler_name in kubectl(*events).split()
    assert [line for log in logs for line in re.findall(r".*(?i:forbidden).*", log.read_text())] == []


IMAGE = "/spec/containers/0/image"


@pytest.mark.parametrize(
    ("subresource", "answer"),
    [
        pytest.param("", 403, id="the pod itself may not be written"),
        pytest.param("/status", 200, id="its status may, and takes no image"),
        pytest.param("/ephemeralcontainers", 403, id="no container may be added"),
        pytest.param("/resize", 403, id="nor resized"),
    ],
)
def test_nobody_changes_with_the_schedulers_account_what_a_pod_runs(
    release: Release, subresource: str, answer: int
) -> None:
    kubectl, name = release.control_plane.kubectl, f"neighbour-{uuid.uuid4().hex[:6]}"
    release.control_plane.create([pod_manifest(name, namespace=release.namespace, scheduler="nobody")])
    before = kubectl.get("pod", name, "-n", release.namespace)["spec"]
    attack: list[dict[str, object]] = [
        {"op": "replace", "path": IMAGE, "value": "evil"},
        {"op": "add", "path": "/metadata/labels", "value": {}},
    ]
    assert patched(release, "mine-pilotage-scheduler", f"pods/{name}{subresource}", attack) == answer
    assert kubectl.get("pod", name, "-n", release.namespace)["spec"] == before


def patched(release: Release, account: str, path: str, change: list[dict[str, object]]) -> int:
    """Patch an object of the release's namespace as one of its accounts; returns the status of the answer."""
    cluster = release.control_plane.cluster
    token = release.control_plane.kubectl("create", "token", account, "-n", release.namespace).strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json-patch+json"}
    url = f"{cluster.server}/api/v1/namespaces/{release.namespace}/{path}"
    with closing(ApiClient(Configuration(cluster.server, ssl_ca_cert=str(cluster.pki / "ca.crt"), proxy=""))) as api:
        response = api.call_api("PATCH", url, headers, change, _request_timeout=60).response
        assert response.data
        return int(response.status)


@pytest.mark.parametrize(
    ("role", "changes"),
    [
        ("view", set()),
        ("edit", {"podgroups", "stickyjobs", "appgroups"}),
        pytest.param("admin", {"podgroups", "stickyjobs", "appgroups"}, marks=pytest.mark.full),
    ],
)
def test_tenants_read_all_and_change_what_is_theirs(
    release: Release, control_plane: ControlPlane, namespace: str, role: str, changes: set[str]
) -> None:
    """Whoever is bound to a role of the cluster in one namespace: no quota, no profile, nothing elsewhere."""
    kubectl, who = control_plane.kubectl, f"somebody-{uuid.uuid4().hex[:6]}"
    kubectl("create", "rolebinding", who, f"--clusterrole={role}", f"--user={who}", "-n", namespace)
    kinds = {
        "podgroups": "podgroups.scheduling.x-k8s.io",
        "elasticquotas": "elasticquotas.scheduling.x-k8s.io",
        "stickyjobs": "stickyjobs.pilotage.dev",
        "appgroups": "appgroups.appgroup.diktyo.x-k8s.io",
        "networktopologies": "networktopologies.networktopology.diktyo.x-k8s.io",
    }

    def can(verb: str, kind: str, place: str, *more: str) -> bool:
        where = ("-n", place) if place else ("--all-namespaces",)
        asked = ("auth", "can-i", verb, kind, f"--as={who}", *where, *more)
        return kubectl.attempt(*asked).stdout.strip() == "yes"

    deadline = time.monotonic() + 30  # the cluster's roles take the chart's in a moment after they come
    while not can("list", kinds["networktopologies"], namespace) and time.monotonic() < deadline:
        time.sleep(0.3)
    assert {name for name, kind in kinds.items() if can("list", kind, namespace)} == set(kinds)
    for verb in ("create", "patch", "delete"):
        assert {name for name, kind in kinds.items() if can(verb, kind, namespace)} == changes, verb
    assert not any(can("list", kind, "default") for kind in kinds.values())
    assert not can("patch", kinds["podgroups"], namespace, "--subresource=status")
    assert not can("create", "schedulerprofiles.pilotage.dev", "")  # what is in no namespace is asked for there


def test_what_the_operator_made_goes_with_the_release(release: Release, control_plane: ControlPlane) -> None:
    """The profile of the values and the configuration belong to objects of the chart; nobody has to run for it."""
    kubectl = control_plane.kubectl
    made = (("schedprof", release.scheduler_name), ("configmap", "mine-pilotage-config"))
    assert all(kubectl.get(kind, name, "-n", release.namespace) for kind, name in made)
    control_plane.helm(4)("uninstall", "mine", "--namespace", release.namespace)
    for kind, name in made:
        kubectl("-n", release.namespace, "wait", f"{kind}/{name}", "--for=delete", "--timeout=60s")


@contextmanager
def operator(release: Release, folder: Path) -> Iterator[Path]:
    """The operator as the chart starts it, as a process with the account's token; gives its log."""
    values = folder / "profiles.yaml"
    found = release.control_plane.kubectl.get("configmap", "mine-pilotage-values", "-n", release.namespace)
    values.write_text(found["data"]["profiles.yaml"])
    words = [word for word in release.arguments("operator") if not word.startswith("--values-file=")]
    kubeconfig = account_kubeconfig(release, "mine-pilotage-operator", folder)
    own = [f"--values-file={values}", f"--kubeconfig={kubeconfig}", "--liveness-port=0", "--metrics-port=0"]
    with process(["pilotage-operator", *words, *own], {}, folder / "operator.log") as log:
        yield log


@contextmanager
def scheduler(release: Release, folder: Path, pod: str) -> Iterator[Path]:
    """A replica of the scheduler as the chart starts it, in the place of a pod; gives its log."""
    kubeconfig = account_kubeconfig(release, "mine-pilotage-scheduler", folder)
    words = [*release.arguments("scheduler"), f"--kubeconfig={kubeconfig}", "--secure-port=0", "--api-port=0"]
    variables = {"POD_NAME": pod, "POD_NAMESPACE": release.namespace}
    with process(["pilotage", *words], variables, folder / f"{pod}.log") as log:
        yield log


@contextmanager
def process(words: list[str], variables: dict[str, str], log: Path) -> Iterator[Path]:
    command = [str(PROGRAMS / words[0]), *words[1:]]
    with (
        log.open("wb") as file,
        subprocess.Popen(command, stdout=file, stderr=file, env=os.environ | variables) as ours,
    ):
        try:
            yield log
        finally:
            ours.terminate()
            try:
                ours.wait(20)
            except subprocess.TimeoutExpired:
                ours.kill()


def account_kubeconfig(release: Release, account: str, folder: Path) -> Path:
    """How a service account of the chart reaches the API server."""
    token = release.control_plane.kubectl("create", "token", account, "-n", release.namespace).strip()
    document = yaml.safe_load(release.control_plane.kubeconfig.read_text())
    document["users"] = [{"name": document["users"][0]["name"], "user": {"token": token}}]
    path = folder / f"{account}-{uuid.uuid4().hex[:6]}.kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path
