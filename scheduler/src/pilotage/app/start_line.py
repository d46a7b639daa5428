"""The first log line of a running scheduler, for readers who know only its name."""

from collections.abc import Collection
from dataclasses import dataclass

from pilotage.app.options import FollowedConfigMap


@dataclass(frozen=True)
class Started:
    """A scheduler after its first complete list."""

    version: str
    emulates: str  # the emulated release of kube-scheduler
    serves: Collection[str]  # the schedulerNames of its pods
    followed: FollowedConfigMap | None
    nodes: int
    pods: int
    lease: str  # NAMESPACE/NAME; empty: no leader election

    def __str__(self) -> str:
        """Return the line."""
        turns = f"waiting for the lease {self.lease}" if self.lease else "scheduling without leader election"
        return (
            f"Pilotage {self.version} started, emulating kube-scheduler {self.emulates}: "
            f"it serves {self._names()}, configured by {self._source()}; "
            f"it sees {self.nodes} nodes and {self.pods} pods; {turns}"
        )

    def _names(self) -> str:
        # Without profiles, an internal one runs that no pod asks for.
        names = [name for name in self.serves if not name.startswith("idle.")]
        return f"pods with schedulerName {' or '.join(names)}" if names else "no pods until there is a profile"

    def _source(self) -> str:
        place = self.followed
        return f"the ConfigMap {place.namespace}/{place.name}" if place else "its command line"
