"""The ground that a fault is injected on: fake nodes, a storm of pods, our scheduler, and the auditor beside it."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from auditor.attempt import Attempt, attempt_of
from auditor.running import RunningAuditor
from kit.commands import Manifest
from kit.control_plane import ControlPlane, RunningPilotage
from kit.fault_proxy import FaultProxy
from kit.fixtures import Audit, Nodes
from kit.storm import Storm, storm_nodes

# PILOTAGE_FAULTS=full: every fault, at the length that it has in the field.
FULL = os.environ.get("PILOTAGE_FAULTS") == "full"
USER = "system:kube-scheduler"


@dataclass
class Ground:
    """Everything that a test of one fault stands on."""

    control_plane: ControlPlane
    namespace: str
    folder: Path
    fake_nodes: Nodes
    audit: Audit
    scheduler: str = field(init=False)
    nodes: list[Manifest] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.scheduler = f"faults-{self.namespace}"
        self._audit_began = self._end_of_audit_log()

    def prepare(self, nodes: int = 50) -> "Ground":
        """Register the nodes."""
        self.nodes = storm_nodes(self.namespace, nodes)
        self.fake_nodes(*self.nodes)
        return self

    def storm(self, **options: Any) -> Storm:
        """Return a storm of pods for our scheduler."""
        return Storm(self.control_plane.cluster, self.namespace, self.scheduler, **options)

    def audited(self, *others: str, wait_limit: float = 60) -> AbstractContextManager[RunningAuditor]:
        """Run the auditor; besides the scheduler's own user others may bind, too."""
        serves = {user: [self.scheduler] for user in (USER, *others)}
        return self.audit(serves=serves, wait_limit=wait_limit, namespaces=[self.namespace])

    def pilotage(
        self, *flags: str, identity: str = "scheduler", **configuration: Any
    ) -> AbstractContextManager[RunningPilotage]:
        """Run our scheduler for the pods of the storm; more fields of its profile can be given."""
        config = f"--config={self._config(configuration)}"
        return self.control_plane.pilotage(config, *flags, identity=identity)

    @contextmanager
    def proxied(self, *flags: str, **configuration: Any) -> Iterator[tuple[FaultProxy, RunningPilotage]]:
        """Run our scheduler behind a proxy."""
        with ExitStack() as stack:
            proxy = stack.enter_context(FaultProxy(self.control_plane.cluster).running())
            way = f"--kubeconfig={proxy.kubeconfig(self.folder)}"
            yield proxy, stack.enter_context(self.pilotage(way, *flags, **configuration))

    def bindings(self) -> list[Attempt]:
        """Return the requests to bind pods of this test so far, as the API server logged them."""
        with self.control_plane.audit_log.open("rb") as file:
            file.seek(self._audit_began)
            lines = [line for line in file.read().split(b"\n") if line.endswith(b"}")]
        attempts = (attempt_of(json.loads(line)) for line in lines)
        return [attempt for attempt in attempts if attempt is not None and attempt.namespace == self.namespace]

    def _end_of_audit_log(self) -> int:
        log = self.control_plane.audit_log
        return log.stat().st_size if log.exists() else 0

    def _config(self, profile: Mapping[str, Any]) -> Path:
        path = self.folder / "scheduler.yaml"
        content = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": self.scheduler, **profile}],
        }
        path.write_text(yaml.safe_dump(content))
        return path
