"""Several replicas of our scheduler that share a lease; each is a user of its own: the audit log tells who bound."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from auditor.attempt import Attempt, attempt_of
from kit.admin import Admin
from kit.control_plane import ControlPlane, RunningPilotage
from localcluster import kubeconfig
from pilotage.testing import pod_manifest

PATIENCE = 60.0  # seconds
LEASE, RENEWAL, RETRY = 6.0, 4.0, 1.0  # seconds; much shorter, and a busy machine costs a leader its lease
JITTER = 2.2  # a candidate waits for one retry period, and up to 1.2 more
LEADS, WAITS, LOST = "scheduling pods of", "waiting for the lease", "leader election lost"


@dataclass(frozen=True)
class Replica:
    """One replica."""

    user: str
    running: RunningPilotage

    def said(self, words: str) -> bool:
        """Tell whether its log has these words."""
        return words in self.running.log.read_text()

    @property
    def is_alive(self) -> bool:
        """Tell whether it still runs."""
        return self.running.process.poll() is None

    def until_said(self, words: str) -> None:
        """Wait until its log has these words."""
        deadline = time.monotonic() + PATIENCE
        while not self.said(words):
            assert self.is_alive, self.running.log.read_text()
            assert time.monotonic() < deadline, f"it has not said '{words}': {self.running.log.read_text()}"
            time.sleep(0.05)


@dataclass(frozen=True)
class Term:
    """A holder of the lease, and since when."""

    holder: str
    since: float


class Replicas:
    """Starts replicas, and knows who leads and who bound what."""

    def __init__(
        self, control_plane: ControlPlane, namespace: str, folder: Path, stack: ExitStack, plugins: Sequence[str]
    ) -> None:
        self._plugins = [{"name": name} for name in plugins]
        self.scheduler = f"replicated-{namespace}"
        self.users: list[str] = []
        self._control_plane, self._namespace, self._folder, self._stack = control_plane, namespace, folder, stack
        self._admin = stack.enter_context(closing(Admin(control_plane.cluster)))
        self._lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/replicas"
        self._audit_began = control_plane.audit_log.stat().st_size if control_plane.audit_log.exists() else 0

    def prepare(self, most: int) -> None:
        """Make users for so many replicas, with the rights of kube-scheduler and a lease to share."""
        kubectl, here = self._control_plane.kubectl, ("-n", self._namespace)
        group = f"--group=system:serviceaccounts:{self._namespace}"
        for role in ("system:kube-scheduler", "system:volume-scheduler"):
            kubectl("create", "clusterrolebinding", f"{self._namespace}-{role[7:]}", f"--clusterrole={role}", group)
        kubectl(*here, "create", "role", "leases", "--verb=*", "--resource=leases.coordination.k8s.io")
        kubectl(*here, "create", "rolebinding", "leases", "--role=leases", group)
        accounts = f"/api/v1/namespaces/{self._namespace}/serviceaccounts"
        for number in range(most):
            self._admin.post(accounts, {"metadata": {"name": f"replica-{number}"}})
            self.users.append(f"system:serviceaccount:{self._namespace}:replica-{number}")

    def clear(self) -> None:
        """Take the rights back that are not in the namespace."""
        names = [f"{self._namespace}-{role}" for role in ("kube-scheduler", "volume-scheduler")]
        self._control_plane.kubectl("delete", "clusterrolebinding", *names)

    def start(self, number: int, *flags: str) -> Replica:
        """Start a replica as one of the users, and wait until it stands for election."""
        times = {"lease-duration": LEASE, "renew-deadline": RENEWAL, "retry-period": RETRY}
        words = [f"--leader-elect-{name}={int(value * 1000)}ms" for name, value in times.items()]
        words += [f"--leader-elect-resource-namespace={self._namespace}", "--leader-elect-resource-name=replicas"]
        access = [f"--config={self._config()}", f"--kubeconfig={self._kubeconfig(number)}", "--leader-elect=true"]
        running = self._stack.enter_context(self._control_plane.pilotage(*access, *words, *flags))
        replica = Replica(self.users[number], running)
        replica.until_said(WAITS)
        return replica

    def term(self) -> Term:
        """Return who leads now."""
        spec = (self._admin.find(self._lease) or {"spec": {}})["spec"]
        since = spec.get("acquireTime")
        return Term(spec.get("holderIdentity") or "", datetime.fromisoformat(since).timestamp() if since else 0.0)

    def next_term(self, before: Term) -> Term:
        """Wait until somebody else leads."""
        deadline = time.monotonic() + PATIENCE
        while not (now := self.term()).holder or now.holder == before.holder:
            assert time.monotonic() < deadline, f"nobody took over from {before}"
            time.sleep(0.02)
        return now

    def bindings(self) -> list[Attempt]:
        """Return the requests to bind pods of this namespace so far, as the API server logged them."""
        with self._control_plane.audit_log.open("rb") as file:
            file.seek(self._audit_began)
            lines = [line for line in file.read().split(b"\n") if line.endswith(b"}")]
        attempts = (attempt_of(json.loads(line)) for line in lines)
        return [attempt for attempt in attempts if attempt is not None and attempt.namespace == self._namespace]

    def _config(self) -> Path:
        path = self._folder / "scheduler.yaml"
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        profile = {"schedulerName": self.scheduler, "plugins": {"multiPoint": {"enabled": self._plugins}}}
        path.write_text(yaml.safe_dump({**head, "profiles": [profile]}))
        return path

    def _kubeconfig(self, number: int) -> Path:
        name = f"replica-{number}"
        cluster = self._control_plane.cluster
        document = kubeconfig.document(name, cluster.server, cluster.pki, "admin")
        token = self._control_plane.kubectl("-n", self._namespace, "create", "token", name, "--duration=1h").strip()
        document["users"][0]["user"] = {"token": token}
        path = self._folder / f"{name}.kubeconfig"
        kubeconfig.write(path, document)
        return path


@contextmanager
def replicas(
    control_plane: ControlPlane, namespace: str, folder: Path, most: int, plugins: Sequence[str] = ()
) -> Iterator[Replicas]:
    """Replicas in a namespace, with more plugins than the default ones; those that still run at the end are stopped."""
    with ExitStack() as stack:
        found = Replicas(control_plane, namespace, folder, stack, plugins)
        found.prepare(most)
        stack.callback(found.clear)
        yield found


class Stream:
    """Creates pods at a pace for as long as the block lasts."""

    def __init__(self, control_plane: ControlPlane, namespace: str, rate: float, **fields: Any) -> None:
        self.created = 0
        self._admin = Admin(control_plane.cluster)
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._rate, self._fields = rate, {"namespace": namespace, **fields}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._flow, name="stream of pods")
        self._failure: BaseException | None = None

    def __enter__(self) -> "Stream":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._admin.close()
        if self._failure is not None:
            raise self._failure

    def _flow(self) -> None:
        began = time.monotonic()
        try:
            while not self._is_over.wait(max(0.0, began + self.created / self._rate - time.monotonic())):
                self._admin.post(self._path, pod_manifest(f"pod-{self.created}", **self._fields))
                self.created += 1
        except BaseException as failure:
            self._failure = failure
