"""The conditions of a profile, with their reasons and messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from pilotage.scheduler_profiles.choosing import DIFFERENT_QUEUE_SORT, DUPLICATE, Candidate
from pilotage.scheduler_profiles.judge import BROKEN_PLUGIN, INVALID, TOO_LARGE, UNKNOWN_PLUGIN, Complaint
from pilotage.scheduler_profiles.resource import Condition
from pilotage.scheduler_profiles.services import FORBIDDEN_SERVICE, INLINE_CREDENTIALS
from pilotage.scheduler_profiles.wording import shortened
from pilotage_operator.profiles.past import Past
from pilotage_operator.profiles.rights import MISSING_CRD, MISSING_PERMISSION
from pilotage_operator.profiles.rollout import PLUGIN_FAILING, Situation
from pilotage_operator.profiles.unwise import unwise
from pilotage_operator.profiles.world import Replica, moment, written

# If a spec has several errors, its reason is the first of these.
_REASONS = (
    TOO_LARGE,
    BROKEN_PLUGIN,
    UNKNOWN_PLUGIN,
    INVALID,
    FORBIDDEN_SERVICE,
    INLINE_CREDENTIALS,
    MISSING_CRD,
    MISSING_PERMISSION,
    DUPLICATE,
    DIFFERENT_QUEUE_SORT,
)
ConditionState = tuple[bool, str, str]


OWN_NODES = (
    "another scheduler uses the same nodes; give the profile its own (spec.nodes.selector), or let at most one of the "
    "two use MostAllocated and raise spec.sharing.spread"
)


@dataclass(frozen=True)
class Facts:
    """The facts about one profile at the end of a round."""

    generation: int
    hash: str  # of the current spec
    past: Past
    complaints: Sequence[Complaint]
    chosen: Candidate | None  # the served spec
    is_new: bool  # the served spec is new in the configuration
    at: Situation
    kube_scheduler: str = ""  # the leader of kube-scheduler; empty: none or unknown

    @property
    def is_applied(self) -> bool:
        """Return whether the current spec is served."""
        return self.chosen is not None and self.chosen.hash == self.hash

    @property
    def is_settled(self) -> bool:
        """Return whether all replicas ran it before, so that changes of other profiles have time until the deadline."""
        # A spec that cannot run makes the profile not ready immediately; otherwise the next round would change it.
        is_wanted = self.is_applied and not self.complaints
        return is_wanted and not self.is_new and self.past.ready_since is not None

    @property
    def deadline(self) -> timedelta:
        """Return the deadline of a change."""
        return timedelta(seconds=self.chosen.verdict.spec.rollout.progress_deadline_seconds if self.chosen else 0)

    def counts(self, replica: Replica) -> bool:
        """Return whether a replica runs the served spec."""
        return replica.hash == self.at.hash or bool(replica.hash and self.has_time(replica))

    def has_time(self, replica: Replica) -> bool:
        """Return whether a replica still has time to run it."""
        due = self.at.due(replica, self.deadline, moment(self.past.applied_at))
        return self.is_settled and self.at.now < due

    @property
    def replicas(self) -> str:
        """Return how many replicas run the served spec, and the number of replicas."""
        running = sum(map(self.counts, self.at.replicas)) if self.chosen else 0
        return f"{running}/{len(self.at.replicas)}"


def conditions(facts: Facts) -> list[Condition]:
    """Return all conditions; transition times change only with the status."""
    said = {
        "Accepted": _accepted(facts),
        "Applied": _applied(facts),
        "Ready": _ready(facts),
        "RolledBack": _rolled_back(facts),
        "Warning": _warning(facts),
        "Contended": _contended(facts),
    }
    return [_condition(name, answer, facts) for name, answer in said.items()]


def _condition(name: str, said: ConditionState, facts: Facts) -> Condition:
    is_true, reason, message = said
    status, before = "True" if is_true else "False", facts.past.conditions.get(name)
    is_same = before is not None and before.status == status
    return Condition(
        type=name,
        status="True" if is_true else "False",
        reason=reason,
        message=shortened(message),
        last_transition_time=before.last_transition_time if before and is_same else written(facts.at.now),
        observed_generation=facts.generation,
    )


def _accepted(facts: Facts) -> ConditionState:
    if not facts.complaints:
        return True, "Accepted", "it can run"
    reason = min((complaint.reason for complaint in facts.complaints), key=_REASONS.index)
    everything = "; ".join(complaint.message for complaint in facts.complaints)
    return False, reason, f"{shortened(everything)} ({_what_runs(facts)})"


def _what_runs(facts: Facts) -> str:
    if facts.chosen is None:
        return "this profile is not running"
    return f"{'it' if facts.is_applied else _earlier(facts.chosen, facts)} keeps running"


def _earlier(chosen: Candidate, facts: Facts) -> str:
    """Describe a spec other than the current one; it may differ only in its plugin files."""
    which = f"the spec of generation {chosen.generation}"
    return f"{which} with its previous plugin files" if chosen.generation == facts.generation else which


def _applied(facts: Facts) -> ConditionState:
    if facts.is_applied:
        return True, "Applied", f"it is in the configuration {facts.at.hash}"
    if facts.chosen is not None:
        return False, "LastGoodRunning", f"{_earlier(facts.chosen, facts)} runs instead"
    return False, "NotAccepted", "this profile is not running"


def _ready(facts: Facts) -> ConditionState:
    failed = facts.past.failed
    # `kubectl get` shows only this condition, so it repeats the reason instead of referring to another one.
    if failed is not None and facts.past.has_failed(facts.hash) and not facts.is_applied:
        return False, "RolledBack", f"{failed.reason}: {shortened(failed.message)} ({_what_runs(facts)})"
    if facts.complaints:
        _, reason, message = _accepted(facts)
        return False, "NotAccepted", f"{reason}: {message}"
    if facts.chosen is None or not facts.is_applied:
        return False, "NotAccepted", f"the spec cannot run ({_what_runs(facts)})"
    if not facts.at.replicas:
        return False, "NoReplicas", "the scheduler has no replicas"
    name = facts.chosen.verdict.scheduler_name
    if failing := facts.at.failing(name, or_before=not facts.is_new):
        return False, PLUGIN_FAILING, f"{failing.plugin} fails: {failing.message}"
    return _acknowledged(facts)


def _acknowledged(facts: Facts) -> ConditionState:
    waiting = [replica for replica in facts.at.lagging if not facts.has_time(replica)]
    if not waiting and any(map(facts.counts, facts.at.replicas)):
        if not facts.at.rolls_on or facts.is_settled:
            return True, "Acknowledged", "all replicas run it"
        return False, "Waiting", "the scheduler's Deployment is still replacing pods"
    told = [f"{each.name} reports: {each.trouble.message}" for each in waiting if each.trouble]
    return False, "Waiting", "; ".join(["not all replicas run it yet", *told])


def _rolled_back(facts: Facts) -> ConditionState:
    failed, before = facts.past.failed, facts.past.is_true("RolledBack")
    if failed is None or facts.is_applied or not (before or facts.past.has_failed(facts.hash)):
        return False, "NotRolledBack", "it was not rolled back"
    tail = f"{_earlier(facts.chosen, facts)} runs again" if facts.chosen else "there is no earlier spec to run"
    return True, failed.reason, f"{failed.message}; {tail}; it is retried when it changes"


def _warning(facts: Facts) -> ConditionState:
    found = list(unwise(facts.chosen.verdict, facts.kube_scheduler)) if facts.chosen else []
    if not found:
        return False, "NoWarning", "no warnings"
    return True, found[0][0], "; ".join(sentence for _, sentence in found)


def _contended(facts: Facts) -> ConditionState:
    found = facts.at.contended(facts.chosen.verdict.scheduler_name) if facts.chosen else None
    if found is None:
        return False, "NotContended", "kubelets accept its pods"
    number = "a pod" if found.rejections == 1 else f"{found.rejections} pods"
    return True, "RejectedPods", f"kubelets rejected {number} of {found.binds} binds in the last minutes: {OWN_NODES}"
