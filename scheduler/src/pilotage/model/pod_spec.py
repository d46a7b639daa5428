"""The parts of a pod's spec that scheduling reads, as the API has them."""

from msgspec import Struct, field

from pilotage.model.selectors import LabelSelector, NodeSelector, PreferredSchedulingTerm
from pilotage.model.tolerations import Toleration
from pilotage.model.volumes import Volume

# Users may write `cpu: 1`; the API server returns strings.
Amounts = dict[str, str | int | float]


class Resources(Struct, frozen=True, gc=False, rename="camel"):
    """What a container or a whole pod asks for."""

    requests: Amounts = {}
    limits: Amounts = {}


class ContainerPort(Struct, frozen=True, gc=False, rename="camel"):
    """A port of a container; with a host port it is taken on the node too."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class RestartRule(Struct, frozen=True, gc=False, rename="camel"):
    """What to do when a container exits in a certain way."""

    action: str = ""


class VolumeMount(Struct, frozen=True, gc=False, rename="camel"):
    """Where a container sees a volume; of interest only for features that the node must have."""

    bind_mount_options: tuple[str, ...] = ()


class SeccompReference(Struct, frozen=True, gc=False, rename="camel"):
    """The profile of system calls that a pod or a container asks for."""

    type: str = ""
    localhost_profile: str = ""


class SecurityContext(Struct, frozen=True, gc=False, rename="camel"):
    """What a pod or a container may do on its node."""

    seccomp_profile: SeccompReference | None = None


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A container, init container or, as an init container that restarts always, a sidecar."""

    name: str = ""
    image: str = ""
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    security_context: SecurityContext | None = None

    @property
    def is_sidecar(self) -> bool:
        """Return whether an init container keeps running beside the others."""
        return self.restart_policy == "Always"


class NodeAffinity(Struct, frozen=True, gc=False):
    """Which nodes a pod requires, and which it prefers."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    # None and the empty list differ: with the latter NodeAffinity scores the pod, by nothing.
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Struct, frozen=True, gc=False, rename="camel"):
    """Other pods, and the topology in which they count.

    matchLabelKeys and mismatchLabelKeys are not read: the API server has merged them into the label selector.
    """

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(Struct, frozen=True, gc=False, rename="camel"):
    """A term that adds its weight to the score of a node for each pod that it matches."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Struct, frozen=True, gc=False):
    """Which pods to be near to, or, as anti-affinity, away from."""

    required: tuple[PodAffinityTerm, ...] = field(default=(), name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Struct, frozen=True, gc=False, rename="camel"):
    """Everything a pod says about its neighbours."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(Struct, frozen=True, gc=False, rename="camel"):
    """How unevenly pods may be spread over the domains of a topology key."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(Struct, frozen=True, gc=False, rename="camel"):
    """Something that must be removed before a pod may be scheduled."""

    name: str = ""


class SchedulingGroup(Struct, frozen=True, gc=False, rename="camel"):
    """The group of scheduling.k8s.io that a pod belongs to."""

    pod_group_name: str = ""


class PodResourceClaim(Struct, frozen=True, gc=False, rename="camel"):
    """A claim for devices, by its name or by the template that it is made from."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Struct, gc=False, rename="camel"):
    """What a pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    termination_grace_period_seconds: int | None = None
    # Everything below decides where the pod fits: it is its shape.
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    overhead: Amounts = {}
    resources: Resources = Resources()
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    security_context: SecurityContext | None = None
