"""The fields of a SchedulerProfile for a cluster with other schedulers: how to share it, and own nodes."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StringConstraints

from pilotage.scheduler_profiles.schema_parts import Part, rules

VictimName = Annotated[str, StringConstraints(min_length=1, max_length=253)]
TAINT = "pilotage.dev/only"  # of a profile's own nodes
LabelValue = Annotated[str, StringConstraints(max_length=63)]


class Sharing(Part):
    """How to share nodes with other schedulers of the cluster."""

    guard: StrictBool = Field(
        default=True,
        description="Whether to guard against races with other schedulers: nodes that rejected a pod are avoided for a "
        "while, and nodes are checked again before each bind.",
    )
    spread: StrictInt = Field(
        default=5,
        ge=0,
        le=100,
        description="While races occur, a node is chosen at random among those whose score is within this percentage "
        "of the best. 0: always the best.",
    )
    victims: list[VictimName] | None = Field(
        default=None,
        max_length=64,
        description="Other schedulers whose pods may be evicted for pods of this profile, besides those that this "
        "release serves; '*': all. Default: none, or all if the release serves default-scheduler.",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )


class NodeRequirement(Part):
    """One condition on a label of a node."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
                "In and NotIn require values; add some, or use Exists or DoesNotExist",
            ),
            (
                "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
                "Exists and DoesNotExist accept no values; remove them, or use In or NotIn",
            ),
        )
    )

    key: Annotated[str, StringConstraints(min_length=1, max_length=317)] = Field(description="The label.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(description="The operator.")
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
    """The nodes of the profile; for it, no others exist."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!(has(self.taint) && self.taint) || "
                "(has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0) || "
                "(has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)",
                "an empty selector matches all nodes, and all of them would be tainted; "
                "set a selector, or remove taint",
            ),
        )
    )

    selector: OwnNodeSelector = Field(description="Selects the nodes by their labels; empty: all nodes.")
    taint: StrictBool = Field(
        default=False,
        description=f"Whether the operator keeps the taint {TAINT}=PROFILE:NoSchedule on these nodes, so that "
        "other schedulers do not use them. Pods of the profile need a toleration for it.",
    )
