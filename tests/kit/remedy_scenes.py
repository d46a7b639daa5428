"""A cluster for each kind of obstacle, and what helps there: in memory, and on a control plane with fake nodes."""

from kit.remedy_scene import (
    GANGS,
    PRIORITIES,
    QUOTAS,
    ZONE,
    ZONES,
    Scene,
    an_object,
    gates,
    node,
    pod,
    priority_class,
    required,
    spread,
)
from kit.remedy_storage_scenes import STORAGE_SCENES

SCENES = [
    Scene(
        "one resource is short: ask for what is free on the emptiest node",
        [node("n1"), node("n2"), pod("a", "n1", cpu="2"), pod("b", "n2", cpu="1500m")],
        {"cpu": "3"},
        "ask for cpu 2.5 instead of 3: fits on n2",
        ("add one more node like n1", "move default/b off n2"),
        live="plain",
    ),
    Scene(
        "one resource is short on several nodes that leave as much",
        [node("n1"), node("n2"), pod("a", "n1", cpu="2"), pod("b", "n2", cpu="2")],
        {"cpu": "3"},
        "ask for cpu 2 instead of 3: fits on 2 nodes, such as n1",
    ),
    Scene(
        "several resources are short: ask for less of all of them",
        [node("n1"), pod("a", "n1", cpu="2", memory="6Gi")],
        {"cpu": "3", "memory": "3Gi"},
        "ask for cpu 2 instead of 3, memory 2Gi instead of 3Gi: fits on n1",
    ),
    Scene(
        "no node is that large",
        [node("n1"), node("n2", cpu="2")],
        {"cpu": "9"},
        "ask for cpu 4 instead of 9 (no node is that large: the largest has 4): fits on n1",
    ),
    Scene(
        "no room among the pods of the node",
        [node("n1", pods=1), pod("a", "n1")],
        {},
        "move default/a off n1",
        ("add one more node like n1",),
    ),
    Scene(
        "a sidecar asks for most of it",
        [node("n1", cpu="2")],
        {"cpu": "500m", "sidecars": [{"cpu": "2"}]},
        "ask for cpu 2 instead of 2.5 (no node is that large: the largest has 2): fits on n1",
    ),
    Scene(
        "devices are asked for by requests and limits alike",
        [node("n1", allocatable={"example.com/gpu": 2})],
        {"requests": {"example.com/gpu": 4}, "limits": {"example.com/gpu": 4}},
        "ask for example.com/gpu 2 instead of 4 (no node is that large: the largest has 2): fits on n1",
    ),
    Scene(
        "a taint: tolerate the one that most nodes have",
        [
            *(node(f"n{i}", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}]) for i in (1, 2)),
            node("n3", taints=[{"key": "gpu", "effect": "NoExecute"}]),
        ],
        {},
        "tolerate team=b:NoSchedule: fits on 2 nodes, such as n1",
        ("tolerate gpu:NoExecute: fits on n3", "remove the taint team=b:NoSchedule from n1"),
    ),
    Scene(
        "a taint that Kubernetes has set is not to be tolerated",
        [node("n1", taints=[{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}])],
        {},
        "repair n1: Kubernetes has tainted it with node.kubernetes.io/disk-pressure:NoSchedule",
        live="none",
    ),
    Scene(
        "a cordoned node",
        [node("n1", unschedulable=True), node("n2", unschedulable=True)],
        {},
        "uncordon n1 (or another of 2 nodes)",
    ),
    Scene(
        "a cordoned node with the taint that Kubernetes adds",
        [node("n1", unschedulable=True, taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])],
        {},
        "uncordon n1",
    ),
    Scene(
        "no node with the label of Priority",
        [node("n1"), node("n2")],
        {},
        "label n1 (or another of 2) with priority.lixueduan.com=10",
        config=PRIORITIES,
    ),
    Scene(
        "a label that no node has: another value, or none",
        [node("n1", labels={"disk": "ssd"}), node("n2", labels={"disk": "ssd"})],
        {"node_selector": {"disk": "nvme"}},
        "ask for disk=ssd instead of nvme: fits on 2 nodes, such as n1",
        ("remove disk=nvme from the nodeSelector: fits on 2 nodes, such as n1", "label n1 with disk=nvme"),
    ),
    Scene(
        "a label of which no node has any value",
        [node("n1"), node("n2")],
        {"node_selector": {"disk": "nvme"}},
        "remove disk=nvme from the nodeSelector: fits on 2 nodes, such as n1",
        ("label n1 with disk=nvme",),
        live="plain",
    ),
    Scene(
        "a name of a node that there is not",
        [node("worker-1"), node("worker-2")],
        {"node_selector": {"kubernetes.io/hostname": "worker-11"}},
        "ask for kubernetes.io/hostname=worker-1 instead of worker-11",
    ),
    Scene(
        "a node affinity of two conditions, of which one is too much",
        [node("n1", labels={"disk": "ssd"}), node("n2", labels={"disk": "ssd"})],
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "disk", "operator": "In", "values": ["ssd"]},
                                    {"key": "rack", "operator": "In", "values": ["r7", "r8"]},
                                ]
                            }
                        ]
                    }
                }
            }
        },
        "remove rack In (r7, r8) from the node affinity: fits on 2 nodes, such as n1",
        ("label n1 with rack=r7",),
    ),
    Scene(
        "a host port that is taken",
        [node("n1"), pod("a", "n1", host_ports=[8080])],
        {"host_ports": [8080]},
        "ask for the host port 8081 instead of 8080: fits on n1",
        ("move default/a off n1", "add one more node like n1"),
    ),
    Scene(
        "spread too unevenly",
        [
            node("n1", labels={ZONE: "a"}),
            node("n2", labels={ZONE: "b"}, cpu="1"),
            pod("w1", "n1", labels={"app": "web"}),
        ],
        {"labels": {"app": "web"}, "cpu": "2", "spec": {"topologySpreadConstraints": [spread(ZONE)]}},
        "ask for cpu 1 instead of 2: fits on n2",
        (
            f"set maxSkew 2 instead of 1 for {ZONE}: fits on n1",
            f"set whenUnsatisfiable ScheduleAnyway instead of DoNotSchedule for {ZONE}: fits on n1",
        ),
    ),
    Scene(
        "spread over domains, one of which takes nobody",
        [
            node("n1", labels={ZONE: "a"}),
            node("n2", labels={ZONE: "b"}, taints=[{"key": "x", "effect": "NoSchedule"}]),
            pod("w1", "n1", labels={"app": "web"}),
            pod("w2", "n1", labels={"app": "web"}),
        ],
        {"labels": {"app": "web"}, "spec": {"topologySpreadConstraints": [spread(ZONE)]}},
        "tolerate x:NoSchedule: fits on n2",
        (f"set maxSkew 3 instead of 1 for {ZONE}: fits on n1",),
    ),
    Scene(
        "pods that it shuns",
        [node("n1"), pod("a", "n1", labels={"app": "db"})],
        {"affinity": required("podAntiAffinity", app="db")},
        "prefer to be away from app=db instead of requiring it: fits on n1",
        ("move default/a off n1", "add one more node like n1"),
    ),
    Scene(
        "pods that shun it",
        [node("n1"), pod("a", "n1", affinity=required("podAntiAffinity", app="web"))],
        {"labels": {"app": "web"}},
        "move default/a off n1",
        ("add one more node like n1",),
    ),
    Scene(
        "pods that it wants and nobody has",
        [node("n1")],
        {"affinity": required("podAffinity", app="cache")},
        "prefer to be near app=cache instead of requiring it (no pod has these labels): fits on n1",
    ),
    Scene(
        "two obstacles at once: a pair of changes",
        [node("n1", cpu="2", taints=[{"key": "x", "effect": "NoSchedule"}])],
        {"cpu": "3"},
        "ask for cpu 2 instead of 3 (no node is that large: the largest has 2), and tolerate x:NoSchedule: fits on n1",
    ),
    Scene(
        "a quota's limit: ask for less, or allow more",
        [
            node("n1"),
            an_object(
                "ElasticQuota",
                "scheduling.x-k8s.io",
                "q",
                "default",
                spec={"min": {"cpu": "2"}, "max": {"cpu": "2"}},
            ),
            an_object("ElasticQuota", "scheduling.x-k8s.io", "q", "lender", spec={"min": {"cpu": "2"}}),
            pod("a", "n1", cpu="1"),
        ],
        {"cpu": "2"},
        "ask for cpu 1 instead of 2: fits on n1",
        ("raise max of the ElasticQuota default/q: cpu 3 instead of 2: fits on n1",),
        config=QUOTAS,
    ),
    Scene(
        "all that quotas guarantee is in use",
        [
            node("n1"),
            an_object("ElasticQuota", "scheduling.x-k8s.io", "q", "default", spec={"min": {"cpu": "1"}}),
            pod("a", "n1", cpu="1"),
        ],
        {"cpu": "1"},
        "raise min of the ElasticQuota default/q: cpu 2 instead of 1: fits on n1",
        config=QUOTAS,
    ),
    Scene(
        "a group that nobody has created",
        [node("n1")],
        {"labels": {"scheduling.x-k8s.io/pod-group": "train"}},
        "create the PodGroup default/train, or remove the label from the pod: fits on n1",
        config=GANGS,
    ),
    Scene(
        "a gang of which pods are missing",
        [node("n1"), an_object("PodGroup", "scheduling.x-k8s.io", "train", "default", spec={"minMember": 3})],
        {"labels": {"scheduling.x-k8s.io/pod-group": "train"}},
        "create 2 more of the 3 pods that default/train needs",
        ("set minMember of the PodGroup default/train to 1 instead of 3",),
        config=GANGS,
    ),
    Scene(
        "a gang for which there is too little room",
        [
            node("n1", cpu="2"),
            an_object("PodGroup", "scheduling.x-k8s.io", "train", "default", spec={"minMember": 3}),
            *(pod(f"w{i}", cpu="1", labels={"scheduling.x-k8s.io/pod-group": "train"}) for i in (1, 2)),
        ],
        {"cpu": "1", "labels": {"scheduling.x-k8s.io/pod-group": "train"}},
        "ask for cpu 0.666 instead of 1 in every pod of the gang",
        ("set minMember of the PodGroup default/train to 2 instead of 3", "add one more node like n1"),
        config=GANGS,
    ),
    Scene(
        "no NUMA zone is large enough",
        [
            node("n1"),
            {
                "apiVersion": "topology.node.k8s.io/v1alpha2",
                "kind": "NodeResourceTopology",
                "metadata": {"name": "n1"},
                "attributes": [{"name": "topologyManagerPolicy", "value": "single-numa-node"}],
                "zones": [
                    {
                        "name": f"node-{i}",
                        "type": "Node",
                        "resources": [
                            {"name": "cpu", "capacity": "2", "allocatable": "2", "available": "2"},
                            {"name": "memory", "capacity": "4Gi", "allocatable": "4Gi", "available": "4Gi"},
                        ],
                    }
                    for i in (0, 1)
                ],
            },
        ],
        {"cpu": "3", "memory": "1Gi", "limits": {"cpu": "3", "memory": "1Gi"}},
        "ask for cpu 2 instead of 3, which fits in one NUMA zone: fits on n1",
        ("set the topology manager policy of the kubelet on n1 to best-effort",),
        config=ZONES,
    ),
    Scene(
        "pods of the same priority: a higher one",
        [
            node("n1"),
            priority_class("low", 5),
            priority_class("high", 100),
            pod("a", "n1", cpu="4", priority=5, spec={"priorityClassName": "low"}),
        ],
        {"cpu": "4", "priority": 5, "spec": {"priorityClassName": "low"}},
        "move default/a off n1",
        (
            "give it the priority class high (100 instead of 5): default/a would be evicted from n1",
            "add one more node like n1",
        ),
        applied="give it the priority class high (100 instead of 5): default/a would be evicted from n1",
    ),
    Scene(
        "pods that are on their way out",
        [
            node("n1"),
            pod(
                "a",
                "n1",
                cpu="4",
                metadata={"deletionTimestamp": "2026-11-18T00:00:00Z", "finalizers": ["example.com/wait"]},
            ),
        ],
        {"cpu": "4"},
        "nothing to change: default/a is leaving n1, and the pod fits once it is gone",
    ),
    Scene(
        "a name of a node that there is not, as a field",
        [node("worker-1"), node("worker-2")],
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["worker-11"]}]}
                        ]
                    }
                }
            }
        },
        "ask for worker-1 instead of worker-11: fits on worker-1",
    ),
    Scene(
        "a scheduling gate, after which the pod fits",
        [node("n1"), node("n2")],
        {"spec": gates("example.com/quota")},
        "remove the scheduling gate example.com/quota, or wait until the controller that set it does: "
        "fits on 2 nodes, such as n1",
    ),
    Scene(
        "the gate of a controller that removes it itself",
        [node("n1"), node("n2")],
        {"spec": gates("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")},
        "wait until Kueue removes the scheduling gates kueue.x-k8s.io/admission, kueue.x-k8s.io/topology: "
        "fits on 2 nodes, such as n1",
    ),
    Scene(
        "a scheduling gate, after which the pod would not fit",
        [node("n1", cpu="2")],
        {"cpu": "3", "spec": gates("example.com/quota")},
        "remove the scheduling gate example.com/quota, or wait until the controller that set it does, and "
        "ask for cpu 2 instead of 3 (no node is that large: the largest has 2): fits on n1",
    ),
    Scene(
        "a gang of which a pod is gated",
        [
            node("n1"),
            an_object("PodGroup", "scheduling.x-k8s.io", "train", "default", spec={"minMember": 2}),
            pod("w1", labels={"scheduling.x-k8s.io/pod-group": "train"}, spec=gates("example.com/quota")),
        ],
        {"labels": {"scheduling.x-k8s.io/pod-group": "train"}},
        "remove the scheduling gate example.com/quota of default/w1, or wait until the controller that set it does",
        ("set minMember of the PodGroup default/train to 1 instead of 2",),
        config=GANGS,
    ),
    Scene(
        "a gang all of whose pods are gated",
        [
            node("n1"),
            an_object("PodGroup", "scheduling.x-k8s.io", "train", "default", spec={"minMember": 2}),
            pod("w1", labels={"scheduling.x-k8s.io/pod-group": "train"}, spec=gates("example.com/quota")),
        ],
        {"labels": {"scheduling.x-k8s.io/pod-group": "train"}, "spec": gates("example.com/quota")},
        "remove the scheduling gate example.com/quota of default/w1, default/web, or wait until the controller that "
        "set it does",
        config=GANGS,
    ),
    *STORAGE_SCENES,
]
