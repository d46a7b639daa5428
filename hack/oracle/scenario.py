"""A scenario: a cluster, and the pods that are decided in it one after another."""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import yaml

Manifest = dict[str, Any]

# A pod with this annotation owns the claims of its ephemeral volumes: its uid is known only once it exists.
OWNED_CLAIMS = "oracle/owned-claims"
# The deletionTimestamp of what is to be deleted once it is there, and lingers: a pod for want of a kubelet, all else
# for its finalizer.
TERMINATING = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Scenario:
    """The objects of a cluster and the pods to decide; each decision changes the cluster for the next."""

    seed: int
    subject: str
    objects: list[Manifest] = field(default_factory=list)
    pods: list[Manifest] = field(default_factory=list)
    about: str = ""  # the corner of the subject

    def with_objects(self, objects: list[Manifest]) -> Self:
        """The same scenario in another cluster."""
        return replace(self, objects=objects)

    def with_pods(self, pods: list[Manifest]) -> Self:
        """The same cluster with other pods."""
        return replace(self, pods=pods)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The scenario that `to_json` wrote."""
        return cls(**json.loads(text))

    def to_yaml(self) -> str:
        """For a person to read."""
        return yaml.safe_dump(asdict(self), sort_keys=False, width=110)


def key_of(manifest: Manifest) -> str:
    """namespace/name, as the scheduler logs it."""
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
