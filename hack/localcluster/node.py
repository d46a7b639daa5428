"""A real node: containerd, kubelet and kube-proxy in a network namespace and a control group of their own."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from localcluster import network, registries
from localcluster.component import Component, flags
from localcluster.packages import SEARCH_PATH, find_program
from localcluster.pki import Identity
from localcluster.record import Cluster

PAUSE_IMAGE = "localhost/pause:1"

# Program -> Debian package, all that the full shape takes from the distribution.
PACKAGES = {
    "host-local": "containernetworking-plugins",
    "ip": "iproute2",
    "iptables": "iptables",  # the CNI portmap plugin
    "nft": "nftables",  # kube-proxy
    "nsenter": "util-linux",
    "runc": "runc",
    "unshare": "util-linux",
}


class Node:
    """One real node of a cluster: its files and its programs."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.cluster = cluster
        self.number = number
        self.name = cluster.nodes[number - 1]
        self.address = cluster.network.node_address(number)
        self.folder = cluster.folder / "nodes" / str(number)
        self.socket = self.folder / "containerd.sock"

    def identity(self) -> Identity:
        """The kubelet's certificate, as client and as server."""
        return Identity(self.name, f"system:node:{self.name}", "system:nodes", (self.name, self.address))

    def write_files(self) -> None:
        """The configuration of the node's programs."""
        (self.folder / "cni").mkdir(parents=True)
        (self.folder / "cni" / "10-pods.conflist").write_text(json.dumps(self._cni()))
        (self.folder / "containerd.toml").write_text(self._containerd())
        # Read once here: on many machines the file is a link into /run, which the cluster does not see.
        (self.folder / "resolv.conf").write_text(_machine_resolver())
        (self.folder / "kubelet.yaml").write_text(yaml.safe_dump(self._kubelet()))
        (self.folder / "kube-proxy.yaml").write_text(yaml.safe_dump(self._kube_proxy()))

    def components(self, archives: list[Path]) -> list[Component]:
        """The node's programs, and the images it gets before the kubelet starts."""
        binaries = self.cluster.binaries
        path = os.pathsep.join([str(Path(binaries["containerd"]).parent), SEARCH_PATH])
        kubelet = flags(
            config=self.folder / "kubelet.yaml",
            kubeconfig=self.cluster.identity_kubeconfig(self.name),
            root_dir=self.folder / "kubelet",
            cert_dir=self.folder / "kubelet" / "pki",
            hostname_override=self.name,
            node_ip=self.address,
        )
        return [
            self._inside("containerd", "control", path, "--config", str(self.folder / "containerd.toml")),
            *(self._import(archive) for archive in archives),
            self._inside("kubelet", "node", path, *kubelet),
            self._inside("kube-proxy", "node", path, "--config", str(self.folder / "kube-proxy.yaml")),
        ]

    def import_command(self, archive: Path) -> list[str]:
        """The command that puts an image archive on this node."""
        socket = f"--address={self.socket}"
        return [self.cluster.binaries["ctr"], socket, "--namespace=k8s.io", "images", "import", "--local", str(archive)]

    def _import(self, archive: Path) -> Component:
        name = f"import-{archive.stem}-{self.number}"
        return Component(name, self.import_command(archive), "cluster", is_task=True)

    def _inside(self, program: str, stage: Any, path: str, *arguments: str) -> Component:
        # Not `ip netns exec`: that would mount a new /sys and hide the control groups.
        namespace = network.namespace_file(self.cluster.folder, self.number)
        command = ["nsenter", f"--net={namespace}", self.cluster.binaries[program], *arguments]
        return Component(f"{program}-{self.number}", command, stage, environment={"PATH": path})

    def _cni(self) -> Mapping[str, Any]:
        addresses = {
            "type": "host-local",
            "dataDir": str(self.folder / "cni-addresses"),
            "ranges": [[{"subnet": self.cluster.network.pod_range(self.number)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        }
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": addresses}
        # No masquerading: a pod is seen under its own address everywhere in the cluster.
        host_ports = {"type": "portmap", "capabilities": {"portMappings": True}}
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge | {"ipMasq": False}, host_ports]}

    def _containerd(self) -> str:
        plugins = Path(find_program("host-local") or "/usr/lib/cni/host-local").parent
        return f"""\
version = 3
root = "{self.folder}/containerd"
state = "/run/containerd/{self.number}"
[grpc]
  address = "{self.socket}"
# Its socket has one path for all containerds of a machine.
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "{registries.folder_of(self.cluster)}"
[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE the kernel refuses the negative scores that the kubelet asks for.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{plugins}"]
    conf_dir = "{self.folder}/cni"
"""

    def _kubelet(self) -> Mapping[str, Any]:
        pki = self.cluster.pki
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "failCgroupV1": False,
            "failSwapOn": False,
            "cgroupDriver": "cgroupfs",
            # Two kubelets on one parent would each delete the other's pods as orphans.
            "cgroupRoot": f"/{self.cluster.network.node_name(self.number)}",
            "address": self.address,
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(pki / "ca.crt")},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(pki / f"{self.name}.crt"),
            "tlsPrivateKeyFile": str(pki / f"{self.name}.key"),
            "clusterDNS": [self.cluster.network.dns],
            "clusterDomain": "cluster.local",
            "resolvConf": str(self.folder / "resolv.conf"),
            "podLogsDir": str(self.folder / "pods"),
            "volumePluginDir": str(self.folder / "volume-plugins"),
            "nodeStatusUpdateFrequency": "5s",
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
        }

    def _kube_proxy(self) -> Mapping[str, Any]:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "hostnameOverride": self.name,
            "clusterCIDR": self.cluster.network.pods,
            "detectLocalMode": "ClusterCIDR",
            "clientConnection": {"kubeconfig": str(self.cluster.identity_kubeconfig("kube-proxy"))},
            "bindAddress": self.address,
            # These are read-only in any network namespace but the machine's own.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        }


def nodes_of(cluster: Cluster) -> list[Node]:
    """The real nodes of a cluster, none in the control-plane shape."""
    return [Node(cluster, number) for number in range(1, cluster.workers + 1)]


def _machine_resolver() -> str:
    try:
        return Path("/etc/resolv.conf").read_text()
    except OSError:
        return ""
