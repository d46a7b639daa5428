"""Gathers one decision from the messages of the scheduler."""

import re
from collections import defaultdict

from oracle.decision import GATED, Decision
from oracle.scenario import Manifest, key_of
from oracle.scheduler_log import Entry

PREEMPTION = "DefaultPreemption"
PREEMPTING = re.compile(r"preempting (\d+) victims$")


class Observation:
    """What was said about one pod, from its creation to the end of its first attempt."""

    def __init__(self, pod: Manifest) -> None:
        self.key = key_of(pod)
        self.is_waiting_for_volumes = False
        volumes = pod.get("spec", {}).get("volumes", ())
        self._has_claims_for_volumes = any({"persistentVolumeClaim", "ephemeral"} & {*volume} for volume in volumes)
        self._node: str | None = None
        self._reason = ""
        self._message = ""
        self._nominated = ""
        self._rejectors: frozenset[str] = frozenset()
        self._scores: dict[str, dict[str, int]] = defaultdict(dict)
        self._totals: dict[str, int] = {}
        self._victims: set[str] = set()
        self._ended = False

    def take(self, entry: Entry) -> bool:
        """Learn from a message; true once the attempt is over and all its victims are reported."""
        about = entry.facts.get("pod") or entry.facts.get("preemptor")
        learn = LESSONS.get(entry.message) if about == self.key else None
        # A second attempt would overwrite what the first one said; only its victims are still deleted meanwhile.
        if learn and (not self._ended or learn is Observation._victim):
            learn(self, entry.facts)
        return self._ended and len(self._victims) >= self._expected_victims()

    def decision(self) -> Decision:
        """The decision as far as the scheduler reported it."""
        feasible = frozenset(self._totals) or frozenset({self._node} if self._node else ())
        return Decision(
            pod=self.key,
            node=self._node,
            reason=self._reason,
            message=self._message,
            feasible=feasible,
            scores=dict(self._scores),
            totals=self._totals,
            nominated=self._nominated,
            victims=frozenset(self._victims),
            rejectors=self._rejectors,
        )

    def _expected_victims(self) -> int:
        told = PREEMPTING.search(self._message)
        return int(told[1]) if told else 0

    def _victim(self, facts: dict[str, str]) -> None:
        self._victims.add(facts["victim"])

    def _plugin_score(self, facts: dict[str, str]) -> None:
        self._scores[facts["plugin"]][facts["node"]] = int(facts["score"])

    def _total(self, facts: dict[str, str]) -> None:
        self._totals[facts["node"]] = int(facts["score"])

    def _bound(self, facts: dict[str, str]) -> None:
        self._node = facts["node"]
        self._ended = True

    def _no_fit(self, facts: dict[str, str]) -> None:
        self._message = facts["err"]

    def _no_nodes(self, _facts: dict[str, str]) -> None:
        self._message = "no nodes available to schedule pods"

    def _back_in_queue(self, facts: dict[str, str]) -> None:
        self._rejectors = frozenset(re.findall(r"\w+", facts["unschedulable plugins"]))

    def _status_written(self, facts: dict[str, str]) -> None:
        """The attempt failed, or it succeeded and something is written before the pod is bound.

        Its node is written down then. Claims for devices follow at once; volumes are not there for good.
        """
        self._reason = facts.get("conditionReason", "")
        nominated = facts.get("nominatedNodeName", "")
        if self._reason:
            self._nominated = nominated
        elif self._has_claims_for_volumes:
            self._node, self.is_waiting_for_volumes = nominated, True
        else:
            return
        self._ended = True

    def _gated(self, facts: dict[str, str]) -> None:
        if facts["plugin"] == PREEMPTION:
            return  # it holds back pods that were tried, and may say so before the outcome of that try is written
        self._reason = GATED
        self._message = facts["status"]
        self._rejectors = frozenset({facts["plugin"]})
        self._ended = True


LESSONS = {
    "Plugin scored node for pod": Observation._plugin_score,
    "Calculated node's final score for pod": Observation._total,
    "Successfully bound pod to node": Observation._bound,
    "Unable to schedule pod; no fit; waiting": Observation._no_fit,
    "Unable to schedule pod; no nodes are registered to the cluster; waiting": Observation._no_nodes,
    "Error scheduling pod; retrying": Observation._no_fit,
    "Pod moved to an internal scheduling queue": Observation._back_in_queue,
    "Updating pod condition and nominated node name": Observation._status_written,
    "Status after running PreEnqueue plugin": Observation._gated,
    "Preemptor Pod preempted victim Pod": Observation._victim,
    "Victim Pod is already being deleted, skipping the API call for it": Observation._victim,
}
