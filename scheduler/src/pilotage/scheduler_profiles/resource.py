"""SchedulerProfile (`pilotage.dev/v1alpha1`): all fields; the CRD and its documentation are generated from this.

`kubectl explain` shows the descriptions. The API server enforces bounds and rules; `judge` validates what requires the
scheduler's own code.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StringConstraints

from pilotage.model.label_syntax import DNS_LABEL, SUBDOMAIN
from pilotage.scheduler_profiles.extender_fields import Extender
from pilotage.scheduler_profiles.schema_parts import Part, list_by, rules
from pilotage.scheduler_profiles.sharing_fields import OwnNodes, Sharing

GROUP = "pilotage.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "SchedulerProfile"
PLURAL = "schedulerprofiles"
PATH = f"/apis/{API_VERSION}/{PLURAL}"
SINGULAR = "schedulerprofile"
SHORT_NAME = "schedprof"
CATEGORY = "pilotage"

# The reporter of events is the scheduler's name, for which the API server accepts only these characters.
LONGEST_SIMPLE_NAME = 63
LONGEST_TAINT_VALUE = 63

PluginName = Annotated[str, StringConstraints(min_length=1, max_length=128)]
PluginNames = Annotated[list[PluginName], Field(max_length=512, json_schema_extra={"x-kubernetes-list-type": "atomic"})]
SchedulerName = Annotated[
    str,
    StringConstraints(max_length=253, pattern=rf"^({SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]{{0,61}})?[A-Za-z0-9]$"),
]
Instance = Annotated[str, StringConstraints(max_length=127, pattern=rf"^(({DNS_LABEL}/)?{SUBDOMAIN})?$")]
Hash = Annotated[str, StringConstraints(max_length=64)]
Word = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
Message = Annotated[str, StringConstraints(max_length=32768)]
Time = Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})]


class Point(StrEnum):
    """The extension points of plugins."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"


# `kubectl explain` shows the allowed values of a list only in a description.
NamedPoint = Annotated[Point, Field(description=f"Each is one of {', '.join(Point)}.")]


class PluginEntry(Part):
    """The differences for one plugin."""

    # A disabled plugin may keep its weight, points and arguments, so that switching it back changes one field.
    model_config = ConfigDict(
        json_schema_extra=rules(
            ("self.name != '*'", "* is not a plugin; to start without the default plugins, set base: None"),
            (
                "!has(self.weight) || !has(self.points) || 'score' in self.points",
                "a weight has an effect only at score; add score to points, or remove weight",
            ),
        )
    )

    name: PluginName = Field(description="The plugin's name, as `pilotage plugins` lists it.")
    enabled: StrictBool = Field(
        default=True,
        description="Whether the plugin is enabled. With false, the other fields of the entry are kept without effect. "
        "Default: true.",
    )
    weight: StrictInt | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="The weight of its scores. Default: that of the base, or 1.",
    )
    args: dict[str, Any] | None = Field(
        default=None,
        max_length=256,
        description="The plugin's arguments, as under pluginConfig of KubeSchedulerConfiguration; `pilotage plugins "
        "NAME` lists them. The operator validates them with the plugin's code.",
    )
    points: list[NamedPoint] | None = Field(
        default=None,
        min_length=1,
        max_length=12,
        description="The extension points at which it is enabled. Default: all that it implements.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )


class Rollout(Part):
    """How a change is rolled out to the running scheduler."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "self.strategy != 'Restart' || self.progressDeadlineSeconds >= 15",
                "a restart takes longer; set progressDeadlineSeconds to 15 or more",
            ),
        )
    )

    strategy: Literal["HotReload", "Restart"] = Field(
        default="HotReload",
        description="HotReload swaps the profile between two scheduling attempts; Restart replaces the scheduler's "
        "pods one by one.",
    )
    progress_deadline_seconds: StrictInt = Field(
        default=60,
        ge=5,
        le=3600,
        description="If not all replicas have acknowledged the spec after this time, it is rolled back to the last "
        "good one; a plugin that fails within the same time afterwards also causes a rollback.",
    )


class Spec(Part):
    """The spec as written by its author."""

    scheduler_name: SchedulerName | None = Field(
        default=None,
        description="The schedulerName of its pods. Default: the resource's name. If another "
        "scheduler of the cluster serves the same name, such as default-scheduler, both race for every pod.",
    )
    instance: Instance | None = Field(
        default=None,
        description="The Helm release that serves the profile, as NAME or NAMESPACE/NAME. "
        "Default: the first release that sees it.",
    )
    base: Literal["Kubernetes", "None"] = Field(
        default="Kubernetes",
        description="What to start from: Kubernetes, the default plugins of kube-scheduler, or None, only a queue sort "
        "plugin and a bind plugin.",
    )
    plugins: list[PluginEntry] = Field(
        default_factory=list,
        max_length=200,
        description="The differences from the base, plugin by plugin.",
        json_schema_extra=list_by("name")
        | rules(
            (
                "self.filter(p, (!has(p.enabled) || p.enabled) && has(p.points) && 'queueSort' in p.points)"
                ".size() <= 1",
                "only one plugin can sort the queue; keep queueSort in the points of one",
            ),
        ),
    )
    extenders: list[Extender] = Field(
        default_factory=list,
        max_length=16,
        description="HTTP extenders. All profiles of a scheduler share one list of them, so they see the pods of all "
        "its profiles.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"}
        | rules(
            (
                "self.filter(e, has(e.bindVerb)).size() <= 1",
                "only one extender can bind pods; keep bindVerb in one",
            ),
        ),
    )
    percentage_of_nodes_to_score: StrictInt | None = Field(
        default=None,
        ge=0,
        le=100,
        description="The share of the nodes to evaluate for a pod, at least 100 nodes. Default, and for 0: all nodes, "
        "which is also fast.",
    )
    # Both are absent by default rather than filled in, so that the hash of other profiles does not change.
    sharing: Sharing | None = Field(
        default=None,
        description="How to share nodes with other schedulers of the cluster. Default: the defaults of its fields.",
    )
    nodes: OwnNodes | None = Field(
        default=None,
        description="The profile's own nodes: it places pods only there, evicts only there, and counts no others. "
        "Default: all nodes.",
    )
    rollout: Rollout = Field(
        default_factory=Rollout, description="How a change is rolled out to the running scheduler."
    )


class Condition(Part):
    """A condition, as of all Kubernetes resources."""

    type: Annotated[str, StringConstraints(min_length=1, max_length=316)] = Field(description="Which aspect.")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether the condition is true.")
    reason: Word = Field(description="The reason, as one machine-readable word.")
    message: Message = Field(description="The reason and the remedy, as text.")
    last_transition_time: Time = Field(description="When the status last changed.")
    observed_generation: int | None = Field(
        default=None, ge=0, description="The generation of the resource that this describes."
    )


class GoodSpec(Part):
    """A spec that worked, for rollbacks."""

    generation: int = Field(ge=0, description="Its generation.")
    spec_hash: Hash = Field(description="The hash of the spec, and of its plugin files.")
    spec: dict[str, Any] = Field(max_length=64, description="The spec itself.")


class FailedSpec(Part):
    """A spec that was rolled back; it is not retried until it changes."""

    spec_hash: Hash = Field(description="The hash of the spec.")
    reason: Word = Field(description="The reason, in one word.")
    message: Message = Field(description="What happened.")


class NodesSeen(Part):
    """The nodes of the profile, counted by the operator."""

    matched: int = Field(ge=0, description="The number of nodes that the selector matches.")
    tainted: int | None = Field(
        default=None, ge=0, description="The number of these nodes with the taint, if it is enabled."
    )
    message: Message | None = Field(default=None, description="Why the taint is missing, and how to fix it.")


class Status(Part):
    """The status, written only by the operator."""

    observed_generation: int | None = Field(default=None, ge=0, description="The generation that this describes.")
    instance: Annotated[str, StringConstraints(max_length=127)] | None = Field(
        default=None, description="The release that serves the profile: NAMESPACE/NAME."
    )
    scheduler_name: Annotated[str, StringConstraints(max_length=253)] | None = Field(
        default=None, description="The schedulerName of its pods."
    )
    conditions: list[Condition] = Field(
        default_factory=list,
        max_length=16,
        description="Accepted, Applied, Ready, RolledBack, Warning.",
        json_schema_extra=list_by("type"),
    )
    config_hash: Hash | None = Field(default=None, description="The hash of the configuration that should run.")
    replicas: Annotated[str, StringConstraints(max_length=32)] | None = Field(
        default=None, description="The replicas that run it, and all replicas: 2/2."
    )
    plugin_count: int | None = Field(default=None, ge=0, description="The number of enabled plugins.")
    plugins: dict[str, PluginNames] | None = Field(
        default=None, max_length=32, description="The plugins of each extension point, in order."
    )
    plugin_files: dict[str, Hash] | None = Field(
        default=None,
        max_length=200,
        description="The loaded plugin files, as CONFIGMAP/FILE, with the hashes of their texts.",
    )
    applied_at: Time | None = Field(default=None, description="When the spec that runs on trial was applied.")
    last_acknowledged: GoodSpec | None = Field(
        default=None, description="The last spec that all replicas ran; if a later one fails, it runs again."
    )
    last_good: GoodSpec | None = Field(default=None, description="The spec that runs if the current one cannot.")
    failed: FailedSpec | None = Field(default=None, description="The spec that was rolled back, and the reason.")
    nodes: NodesSeen | None = Field(default=None, description="The profile's own nodes, if it has any.")


class SchedulerProfile(Part):
    """A SchedulerProfile defines one scheduler: the schedulerName of its pods, and their scheduling policy."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.spec) && has(self.spec.schedulerName)) "
                f"|| size(self.metadata.name) <= {LONGEST_SIMPLE_NAME}",
                f"a scheduler's name has at most {LONGEST_SIMPLE_NAME} characters; "
                "shorten metadata.name, or set spec.schedulerName",
            ),
            (
                "!(has(self.spec) && has(self.spec.nodes) && has(self.spec.nodes.taint) && self.spec.nodes.taint) "
                f"|| size(self.metadata.name) <= {LONGEST_TAINT_VALUE}",
                f"the name is the value of the taint, and has at most {LONGEST_TAINT_VALUE} characters then; "
                "shorten metadata.name, or remove spec.nodes.taint",
            ),
        )
    )

    spec: Spec = Field(default_factory=Spec, description="The desired state.")
    status: Status | None = Field(default=None, description="The observed state.")
