"""The parts of a pod's spec that scheduling reads, as in the API."""

from msgspec import Struct, field

from pilotage.model.selectors import LabelSelector, NodeSelector, PreferredSchedulingTerm
from pilotage.model.tolerations import Toleration
from pilotage.model.volumes import Volume

# Users may write `cpu: 1`; the API server returns strings.
Amounts = dict[str, str | int | float]


class Resources(Struct, frozen=True, gc=False, rename="camel"):
    """The requests and limits of a container or a pod."""

    requests: Amounts = {}
    limits: Amounts = {}


class ContainerPort(Struct, frozen=True, gc=False, rename="camel"):
    """A port of a container, possibly with a port of the node."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class RestartRule(Struct, frozen=True, gc=False, rename="camel"):
    """A restart rule of a container."""

    action: str = ""


class VolumeMount(Struct, frozen=True, gc=False, rename="camel"):
    """A volume mount of a container; only used to derive required node features."""

    bind_mount_options: tuple[str, ...] = ()


class SeccompReference(Struct, frozen=True, gc=False, rename="camel"):
    """The seccomp profile of a pod or a container."""

    type: str = ""
    localhost_profile: str = ""


class SecurityContext(Struct, frozen=True, gc=False, rename="camel"):
    """The security context of a pod or a container."""

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
        """Return whether an init container is a sidecar."""
        return self.restart_policy == "Always"


class NodeAffinity(Struct, frozen=True, gc=False):
    """The required and preferred nodes of a pod."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    # None and the empty list differ: with the latter NodeAffinity scores the pod, by nothing.
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Struct, frozen=True, gc=False, rename="camel"):
    """A selector of other pods, and the topology key.

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
    """Affinity to other pods, or anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = field(default=(), name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Struct, frozen=True, gc=False, rename="camel"):
    """The affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(Struct, frozen=True, gc=False, rename="camel"):
    """A topology spread constraint: the maximum skew of pods over the domains of a topology key."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class SchedulingGate(Struct, frozen=True, gc=False, rename="camel"):
    """A scheduling gate, which must be removed before a pod is scheduled."""

    name: str = ""


class SchedulingGroup(Struct, frozen=True, gc=False, rename="camel"):
    """The group of scheduling.k8s.io that a pod belongs to."""

    pod_group_name: str = ""


class PodResourceClaim(Struct, frozen=True, gc=False, rename="camel"):
    """A claim for devices, by its name or by its template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Struct, gc=False, rename="camel"):
    """The spec of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    termination_grace_period_seconds: int | None = None
    # All fields below determine where the pod fits: they are its shape.
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
