"""The programs of a control plane and the files they read."""

from localcluster import kubeconfig
from localcluster.component import Component, flags
from localcluster.pki import Authority, Identity, write_service_account_keys
from localcluster.record import Cluster

# Whatever service accounts of this namespace ask for is logged, too: a test learns from it which rights they use.
WATCHED_NAMESPACE = "watched"

# The auditor judges from this log who bound what; of all others nothing else is kept.
AUDIT_POLICY = f"""\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create]
  resources:
  - {{group: "", resources: [pods/binding, bindings]}}
- level: Metadata
  userGroups: ["system:serviceaccounts:{WATCHED_NAMESPACE}"]
- level: None
"""

# With kwok's default of 4 a thousand nodes wait for each other.
KWOK_CONFIGURATION = """\
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  nodePlayStageParallelism: 16
  nodeLeaseParallelism: 16
  podPlayStageParallelism: 16
  # Pods with this annotation are simulated elsewhere.
  disregardStatusWithAnnotationSelector: kwok.x-k8s.io/status=custom
"""

LOOPBACK = "127.0.0.1"


def identities(cluster: Cluster) -> list[Identity]:
    """Everyone who speaks in the control plane."""
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
    return [
        Identity(
            "apiserver",
            "kube-apiserver",
            "kubernetes",
            (*names, "localhost", LOOPBACK, cluster.network.service_router, cluster.host),
        ),
        Identity("apiserver-kubelet-client", "kube-apiserver-kubelet-client", "system:masters"),
        Identity("etcd", "etcd", "etcd", ("localhost", LOOPBACK)),
        Identity("admin", "kubernetes-admin", "system:masters"),
        Identity("controller-manager", "system:kube-controller-manager", "kubernetes"),
        Identity("scheduler", "system:kube-scheduler", "kubernetes"),
        Identity("kube-proxy", "system:kube-proxy", "kubernetes"),
        # kwok plays all kubelets at once, which no node identity may.
        Identity("kwok", "kwok", "system:masters"),
    ]


def write_files(cluster: Cluster, more: list[Identity]) -> None:
    """Certificates, kubeconfigs and the audit policy."""
    everyone = identities(cluster) + more
    Authority(cluster.pki).issue(everyone)
    write_service_account_keys(cluster.pki)
    for identity in everyone:
        content = kubeconfig.document(cluster.context, cluster.server, cluster.pki, identity.name)
        kubeconfig.write(cluster.identity_kubeconfig(identity.name), content)
    cluster.audit_log.parent.mkdir()
    (cluster.audit_log.parent / "policy.yaml").write_text(AUDIT_POLICY)
    (cluster.folder / "kwok.yaml").write_text(KWOK_CONFIGURATION)
    cluster.logs.mkdir()


def components(cluster: Cluster) -> list[Component]:
    """The programs in the order of their start."""
    programs = [_etcd(cluster), _api_server(cluster), _controller_manager(cluster)]
    programs += [_kwok(cluster)] if cluster.with_fake_nodes else []
    return [*programs, _scheduler(cluster)] if cluster.with_scheduler else programs


def _etcd(cluster: Cluster) -> Component:
    client = f"https://{LOOPBACK}:{cluster.ports.etcd}"
    peer = f"http://{LOOPBACK}:{cluster.ports.etcd_peer}"
    command = [cluster.binaries["etcd"], "--client-cert-auth"]
    # The cluster does not outlive the machine, so nothing is lost by not waiting for the disk.
    command += ["--unsafe-no-fsync", "--log-level=warn", "--name=default"]
    command += flags(
        data_dir=cluster.folder / "etcd",
        listen_client_urls=client,
        advertise_client_urls=client,
        listen_peer_urls=peer,
        initial_advertise_peer_urls=peer,
        initial_cluster=f"default={peer}",
        cert_file=cluster.pki / "etcd.crt",
        key_file=cluster.pki / "etcd.key",
        trusted_ca_file=cluster.pki / "ca.crt",
    )
    return Component("etcd", command, "control")


def _api_server(cluster: Cluster) -> Component:
    pki = cluster.pki
    command = [cluster.binaries["kube-apiserver"], "--allow-privileged", "--enable-aggregator-routing"]
    command += flags(
        etcd_servers=f"https://{LOOPBACK}:{cluster.ports.etcd}",
        etcd_cafile=pki / "ca.crt",
        etcd_certfile=pki / "etcd.crt",
        etcd_keyfile=pki / "etcd.key",
        advertise_address=cluster.host,
        bind_address=cluster.host,
        secure_port=cluster.ports.api,
        # A loopback address is not a valid endpoint; without real nodes none is needed.
        endpoint_reconciler_type="lease" if cluster.shape == "full" else "none",
        service_cluster_ip_range=cluster.network.services,
        authorization_mode="Node,RBAC",
        enable_admission_plugins="NodeRestriction",
        client_ca_file=pki / "ca.crt",
        tls_cert_file=pki / "apiserver.crt",
        tls_private_key_file=pki / "apiserver.key",
        kubelet_client_certificate=pki / "apiserver-kubelet-client.crt",
        kubelet_client_key=pki / "apiserver-kubelet-client.key",
        kubelet_certificate_authority=pki / "ca.crt",
        kubelet_preferred_address_types="InternalIP",
        service_account_issuer="https://kubernetes.default.svc.cluster.local",
        service_account_key_file=pki / "sa.pub",
        service_account_signing_key_file=pki / "sa.key",
        requestheader_client_ca_file=pki / "ca.crt",
        requestheader_allowed_names="front-proxy-client",
        requestheader_username_headers="X-Remote-User",
        requestheader_group_headers="X-Remote-Group",
        requestheader_extra_headers_prefix="X-Remote-Extra-",
        audit_policy_file=cluster.audit_log.parent / "policy.yaml",
        audit_log_path=cluster.audit_log,
        # Tests remove a thousand nodes in one request; one after the other that takes ten seconds.
        delete_collection_workers=8,
    )
    if cluster.runtime_config:
        command.append(f"--runtime-config={cluster.runtime_config}")
    return Component("kube-apiserver", [*command, *_features(cluster)], "control")


def _features(cluster: Cluster) -> list[str]:
    return [f"--feature-gates={cluster.feature_gates}"] if cluster.feature_gates else []


def _controller_manager(cluster: Cluster) -> Component:
    own = cluster.identity_kubeconfig("controller-manager")
    command = [cluster.binaries["kube-controller-manager"], "--use-service-account-credentials", "--leader-elect=false"]
    command += flags(
        kubeconfig=own,
        service_account_private_key_file=cluster.pki / "sa.key",
        root_ca_file=cluster.pki / "ca.crt",
        cluster_signing_cert_file=cluster.pki / "ca.crt",
        cluster_signing_key_file=cluster.pki / "ca.key",
        controllers="*,bootstrapsigner,tokencleaner",
        # With the default of 20 a second, its own start takes five seconds.
        kube_api_qps=500,
        kube_api_burst=1000,
        secure_port=0,
    )
    return Component("kube-controller-manager", [*command, *_features(cluster)], "cluster")


def _scheduler(cluster: Cluster) -> Component:
    own = cluster.identity_kubeconfig("scheduler")
    command = [cluster.binaries["kube-scheduler"], "--leader-elect=false"]
    command += flags(
        kubeconfig=own,
        authentication_kubeconfig=own,
        authorization_kubeconfig=own,
        bind_address=LOOPBACK,
        secure_port=cluster.ports.scheduler,
    )
    return Component("kube-scheduler", [*command, *_features(cluster)], "cluster")


def _kwok(cluster: Cluster) -> Component:
    command = [cluster.binaries["kwok"]]
    command += flags(
        kubeconfig=cluster.identity_kubeconfig("kwok"),
        config=f"{cluster.binaries['stages.yaml']},{cluster.folder / 'kwok.yaml'}",
        manage_nodes_with_label_selector="type=kwok",
        node_lease_duration_seconds=40,
        server_address=f"{LOOPBACK}:{cluster.ports.kwok}",
    )
    return Component("kwok", command, "cluster")
