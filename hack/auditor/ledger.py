"""The ledger: events of pods, nodes and bindings in, violations out; no I/O, and no clock of its own."""

from collections.abc import Callable, Iterable

from auditor.arrivals import Arrivals
from auditor.attempt import Attempt
from auditor.bindings import Bindings, unknown_pod
from auditor.devices import Devices
from auditor.node import Node
from auditor.nodes import Nodes
from auditor.occupancy import Occupancy
from auditor.pod import Pod
from auditor.records import Record, Records
from auditor.repulsion import Repulsions
from auditor.rules import Violation
from auditor.serves import Serves
from auditor.waiting import Waiting

LONGEST_STEP = 5.0  # seconds; a process that slept longer saw nothing of it
NEVER = float("-inf")
END = float("inf")


class Ledger:
    """Holds what was seen and reports, through `report` and `note`, what broke a rule and what could not be read."""

    def __init__(
        self,
        serves: Serves,
        wait_limit: float,
        grace: float,
        report: Callable[[Violation], None],
        note: Callable[[str], None],
    ) -> None:
        self._serves, self._report, self._note = serves, report, note
        self._records, self._nodes = Records(), Nodes()
        self._occupancy, self._repulsions = Occupancy(), Repulsions()
        self._bindings = Bindings(self._records, serves, grace)
        self._arrivals = Arrivals(self._occupancy, self._nodes, grace)
        self._waiting = Waiting(self._occupancy, self._nodes, self._repulsions, wait_limit)
        self.devices = Devices(self._nodes, grace, self._tell)
        self._told: set[tuple[str, str]] = set()
        self._blind: list[tuple[float, float]] = []
        self._pods_as_of = self._nodes_as_of = NEVER
        self._elapsed, self._last_tick = 0.0, END
        self._counts = dict.fromkeys(("pods", "nodes", "arrivals", "bindings", "boundInSight", "refusedBindings"), 0)

    # ------------------------------------------------------------------------------------------------------ pods

    def pods_listed(self, pods: Iterable[Pod], now: float, began: float, seen_until: float) -> None:
        """Take a complete list of pods, asked for at `began`; the first is where the auditor comes in."""
        is_first = self._pods_as_of == NEVER
        listed = {pod.uid: pod for pod in pods}
        for uid in [uid for uid in self._records.alive() if uid not in listed]:
            self.pod_gone(uid, now)
        # The order in which they came is lost, so all are counted before any is judged.
        taken = [self._take(pod, now) for pod in listed.values()]
        if not is_first:
            self._blind.append((seen_until, now))
            for record, old in filter(None, taken):
                self._judge_versions(record, old, now)
        self._pods_as_of = began

    def pod_changed(self, pod: Pod, now: float) -> None:
        """Take the next version of a pod."""
        if taken := self._take(pod, now):
            self._judge_versions(*taken, now)

    def pod_gone(self, uid: str, now: float) -> None:
        """Record that a pod was deleted."""
        if last := self._records.end(uid, now):
            self._account(last, None)
            self.devices.pod_left(uid)

    def _take(self, pod: Pod, now: float) -> tuple[Record, Pod | None] | None:
        known = self._records.by_uid.get(pod.uid)
        old = known.pod if known else None
        if old and known and (old.version == pod.version or known.gone is not None):
            return None
        self._counts["pods"] += old is None
        record = self._records.see(pod, now)
        self._account(old, pod)
        return record, old

    def _account(self, old: Pod | None, new: Pod | None) -> None:
        self._waiting.touch(self._occupancy.place(old, new))
        self._waiting.place(self._as_waiter(old), self._as_waiter(new), self._elapsed)
        before, after = (pod.repels if pod and pod.holds else () for pod in (old, new))
        if before != after:
            self._repulsions.drop(before)
            self._repulsions.add(after)

    def _as_waiter(self, pod: Pod | None) -> Pod | None:
        return pod if pod and pod.waits and self._serves.is_served(pod.scheduler) else None

    def _judge_versions(self, record: Record, old: Pod | None, now: float) -> None:
        pod = record.pod
        if pod.finished:
            self.devices.pod_left(pod.uid)
        if old is None:
            self._tell(self._bindings.known(pod))
        if pod.node and (old is None or old.node != pod.node):
            self._counts["arrivals"] += 1
            self._counts["boundInSight"] += old is not None
            binder = record.bindings[-1].user if record.bindings else ""
            self._tell(self._bindings.arrived(record, old, now))
            self._tell(self._arrivals.judge(pod, now, binder))
            if old or binder:
                self.devices.pod_arrived(pod, now, binder)

    # ----------------------------------------------------------------------------------------------------- nodes

    def nodes_listed(self, nodes: Iterable[Node], now: float, began: float) -> None:
        """Take a complete list of nodes, asked for at `began`."""
        listed = {node.name: node for node in nodes}
        for name in [name for name in self._nodes.current if name not in listed]:
            self.node_gone(name, now)
        for node in listed.values():
            self.node_changed(node, now)
        self._nodes_as_of = began

    def node_changed(self, node: Node, now: float) -> None:
        """Take the next version of a node."""
        self._counts["nodes"] += node.name not in self._nodes.current
        if self._nodes.see(node, now):
            self._waiting.touch([node.name])

    def node_gone(self, name: str, now: float) -> None:
        """Record that a node was deleted."""
        if self._nodes.lose(name, now):
            self._waiting.touch([name])

    # -------------------------------------------------------------------------------------------------- bindings

    def attempted(self, attempt: Attempt) -> None:
        """Take a binding request from the audit log."""
        self._counts["bindings"] += attempt.succeeded
        self._counts["refusedBindings"] += not attempt.succeeded
        self._tell(self._bindings.take(attempt, self._elapsed))

    # ------------------------------------------------------------------------------------------------------ time

    def tick(self, now: float, in_sight: bool) -> None:
        """Let time pass; it counts for waiting pods only while the API was in sight."""
        step = now - self._last_tick
        if in_sight and step > 0:
            self._elapsed += min(step, LONGEST_STEP)
        self._last_tick = now
        self._records.forget(now)
        self._tell(self._arrivals.settle(self._nodes_as_of))
        self.devices.settle()
        self._tell(self._bindings.ripe(self._elapsed))
        self._give_up(self._elapsed)

    def check_waiting(self, now: float, out_of_time: Callable[[], bool] = lambda: False) -> None:
        """Check pods that wait although they fit; what is not done in time is done first the next time."""
        self._waiting.check(self._elapsed, now, out_of_time)
        self._tell(self._waiting.overdue(min(self._pods_as_of, self._nodes_as_of)))

    def close(self, now: float) -> None:
        """Decide everything that is still open; the last lists of pods and nodes were just taken."""
        self._tell(self._arrivals.settle(END, final=True))
        self.devices.settle(final=True)
        self._tell(self._bindings.ripe(END))
        self._give_up(END)
        self._waiting.check(self._elapsed, now, lambda: False)
        self._tell(self._waiting.overdue(END))

    def doubts(self, now: float) -> set[str]:
        """Return which kinds of objects must be listed afresh before a suspicion becomes a violation."""
        found = self.devices.doubts(now)
        if self._waiting.needs_view():
            return found | {"pods", "nodes"}
        return found | {"nodes"} if self._arrivals.needs_nodes(now) else found

    @property
    def log_is_silent(self) -> bool:
        """Whether pods were seen to be bound, but no line of the audit log belongs to any pod."""
        return self._counts["boundInSight"] > 0 and not self._bindings.matched

    @property
    def seen(self) -> dict[str, float]:
        """What the auditor looked at, in numbers."""
        longest = round(self._waiting.longest, 1)
        allocated = {"allocatedClaims": self.devices.allocated}
        return {**self._counts, **allocated, "unjudged": len(self._waiting.unjudged), "longestWaitSeconds": longest}

    def _give_up(self, elapsed: float) -> None:
        for attempt in self._bindings.expired(elapsed):
            if any(start <= attempt.received <= end for start, end in self._blind):
                self._note(f"pod {attempt.namespace}/{attempt.pod} was bound and deleted while the API was not seen")
            else:
                self._tell([unknown_pod(attempt)])

    def _tell(self, violations: Iterable[Violation]) -> None:
        for found in violations:
            key = (found.rule, found.uid or f"{found.namespace}/{found.pod}")
            if key not in self._told:
                self._told.add(key)
                self._report(found)
