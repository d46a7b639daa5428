"""What we build from Go modules: each tool's pinned module, its commands and the version it reports."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.errors import Problem
from localcluster.paths import HACK

MODULES = HACK / "go"
DEFAULT_KUBERNETES = "1.37.1"


@dataclass(frozen=True)
class Tool:
    """One Go module of ours: the commands built from it and the files taken along."""

    name: str
    folder: Path
    commands: dict[str, str]  # file name of the command -> Go package
    module: str = ""  # the module whose version is the tool's; without one the tool is our own source
    stamps: tuple[str, ...] = ()  # linker variables that receive the version
    fixed_stamps: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)  # file name -> parts, joined, from the module

    @property
    def version(self) -> str:
        """The version that go.mod pins, as Go writes it."""
        pin = re.search(rf"^(?:require)?\s+{re.escape(self.module)} (v\S+)", self.go_mod.read_text(), re.MULTILINE)
        return pin[1] if self.module and pin else "v0"

    @property
    def go_mod(self) -> Path:
        """The module file with the pins."""
        return self.folder / "go.mod"

    @property
    def linker_flags(self) -> str:
        """No symbol tables; the version where the program looks for it."""
        values = dict.fromkeys(self.stamps, self.version) | self.fixed_stamps
        return " ".join(["-s", "-w", *(f"-X {variable}={value}" for variable, value in values.items())])


def wanted_kubernetes() -> str:
    """The Kubernetes version to use when nothing nearer says otherwise: K8S_VERSION, or the newest that we follow."""
    return os.environ.get("K8S_VERSION", DEFAULT_KUBERNETES).removeprefix("v")


def kubernetes_versions() -> list[str]:
    """The Kubernetes versions whose modules are pinned here, oldest first."""
    found = (folder.name.removeprefix("kubernetes-") for folder in MODULES.glob("kubernetes-*"))
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def kubernetes(version: str) -> Tool:
    """The six Kubernetes programs of one version."""
    version = version.removeprefix("v")
    if version not in kubernetes_versions():
        raise Problem(
            f"Kubernetes {version!r} is not pinned here: choose one of {', '.join(kubernetes_versions())} "
            f"(K8S_VERSION or --image kindest/node:vX.Y.Z), or pin it with: python -m generate.go_modules {version}"
        )
    major, minor, _ = version.split(".")
    programs = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl")
    stamp = "k8s.io/component-base/version"
    return Tool(
        "kubernetes",
        MODULES / f"kubernetes-{version}",
        {program: f"k8s.io/kubernetes/cmd/{program}" for program in programs},
        "k8s.io/kubernetes",
        (f"{stamp}.gitVersion",),
        {f"{stamp}.gitMajor": major, f"{stamp}.gitMinor": minor, f"{stamp}.gitTreeState": "clean"},
    )


def _containerd() -> Tool:
    package = "github.com/containerd/containerd/v2"
    programs = ("containerd", "containerd-shim-runc-v2", "ctr")
    return Tool(
        "containerd",
        MODULES / "containerd",
        {program: f"{package}/cmd/{program}" for program in programs},
        package,
        (f"{package}/version.Version",),
    )


def _helm(major: int) -> Tool:
    module = f"helm.sh/helm/v{major}"
    stamp = f"{module}/internal/version.version"
    return Tool(f"helm{major}", MODULES / f"helm{major}", {"helm": f"{module}/cmd/helm"}, module, (stamp,))


# kwok plays kubelet by these rules; a bare binary has none.
KWOK_STAGES = (
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-complete.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
)

# Karpenter's own kinds, and the node class of its provider for kwok's nodes.
KARPENTER_KINDS = (
    "kwok/charts/crds/karpenter.sh_nodeclaims.yaml",
    "kwok/charts/crds/karpenter.sh_nodeoverlays.yaml",
    "kwok/charts/crds/karpenter.sh_nodepools.yaml",
    "kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml",
)

TOOLS = {
    tool.name: tool
    for tool in (
        Tool("etcd", MODULES / "etcd", {"etcd": "go.etcd.io/etcd/server/v3"}, "go.etcd.io/etcd/server/v3"),
        Tool(
            "kwok",
            MODULES / "kwok",
            {"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
            "sigs.k8s.io/kwok",
            ("sigs.k8s.io/kwok/pkg/consts.Version",),
            files={"stages.yaml": KWOK_STAGES},
        ),
        Tool(
            "karpenter",
            MODULES / "karpenter",
            {"karpenter": "sigs.k8s.io/karpenter/kwok"},
            "sigs.k8s.io/karpenter",
            ("sigs.k8s.io/karpenter/pkg/operator.Version",),
            files={"crds.yaml": KARPENTER_KINDS},
        ),
        _containerd(),
        Tool(
            "coredns",
            MODULES / "coredns",
            {"coredns": "pilotage.dev/hack/coredns"},
            "github.com/coredns/coredns",
        ),
        Tool("pause", MODULES / "pause", {"pause": "pilotage.dev/hack/pause"}),
        Tool("dra", MODULES / "dra", {"dra": "pilotage.dev/hack/dra"}, "k8s.io/dynamic-resource-allocation"),
        _helm(3),
        _helm(4),
        Tool("kind", MODULES / "kind", {"kind": "sigs.k8s.io/kind"}, "sigs.k8s.io/kind"),
        Tool(
            "actionlint",
            MODULES / "actionlint",
            {"actionlint": "github.com/rhysd/actionlint/cmd/actionlint"},
            "github.com/rhysd/actionlint",
        ),
    )
}
