"""The fields of a SchedulerProfile for a cluster with other schedulers: how to share it, and nodes of one's own."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StringConstraints

from pilotage.scheduler_profiles.schema_parts import Part, rules

VictimName = Annotated[str, StringConstraints(min_length=1, max_length=253)]
TAINT = "pilotage.dev/only"  # of a profile's own nodes
LabelValue = Annotated[str, StringConstraints(max_length=63)]


class Sharing(Part):
    """How to get along with other schedulers of the cluster."""

    guard: StrictBool = Field(
        default=True,
        description="Whether to watch out for races with other schedulers: rejections by kubelets are remembered, "
        "and nodes looked at again before each bind.",
    )
    spread: StrictInt = Field(
        default=5,
        ge=0,
        le=100,
        description="While races are seen, pods are spread over the nodes whose score is within so many percent of "
        "the best. 0 always takes the best.",
    )
    victims: list[VictimName] | None = Field(
        default=None,
        max_length=64,
        description="Other schedulers whose pods may be evicted for pods of this profile, besides those that this "
        "release serves; '*' stands for all. Without it: none, or all where the release serves default-scheduler.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )


class NodeRequirement(Part):
    """One condition on a label of a node."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
                "In and NotIn need values; give some, or use Exists or DoesNotExist",
            ),
            (
                "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
                "Exists and DoesNotExist take no values; remove them, or use In or NotIn",
            ),
        )
    )

    key: Annotated[str, StringConstraints(min_length=1, max_length=317)] = Field(description="The label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="What must hold for it.")
    values: list[LabelValue] | None = Field(
        default=None,
        max_length=256,
        description="The values for In and NotIn.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )


class OwnNodeSelector(Part):
    """Conditions on the labels of a node, all of which must hold."""

    match_labels: dict[str, LabelValue] | None = Field(
        default=None, max_length=64, description="Labels that a node must have, with these values."
    )
    match_expressions: list[NodeRequirement] | None = Field(
        default=None,
        max_length=32,
        description="Further conditions.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )


class OwnNodes(Part):
    """The only nodes that exist for the profile."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!(has(self.taint) && self.taint) || "
                "(has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0) || "
                "(has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)",
                "an empty selector selects all nodes, and taint would close them all; "
                "say which nodes are meant, or remove taint",
            ),
        )
    )

    selector: OwnNodeSelector = Field(description="Which nodes these are, by their labels; all if it is empty.")
    taint: StrictBool = Field(
        default=False,
        description=f"Whether the operator keeps the taint {TAINT}=PROFILE:NoSchedule on these nodes, so that "
        "other schedulers leave them alone. Pods of the profile need a toleration for it.",
    )
