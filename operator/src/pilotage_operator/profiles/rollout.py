"""The rollout of a configuration to the replicas, and the trial of a spec.

          all replicas acknowledge        the deadline passes without trouble
applied ────────────────────────> ready ────────────────────────────────────> last good
   │ rejected or not acknowledged   │ a plugin fails on every pod
   └──────────────> failed <────────┘   the last good spec is restored; this one is not retried
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pilotage.config.handshake import FAILING, NEEDS_RESTART, RESTART, STALLED, Contention, Trouble
from pilotage.config.handshake import REFUSED as REFUSED_BY_REPLICA
from pilotage.scheduler_profiles.resource import FailedSpec, GoodSpec
from pilotage.scheduler_profiles.wording import shortened
from pilotage_operator.profiles.past import Past, ServedSpec
from pilotage_operator.profiles.world import Deployment, Replica, moment

REFUSED, NOT_ACKNOWLEDGED, PLUGIN_FAILING = "Refused", "NotAcknowledged", "PluginFailing"


@dataclass(frozen=True)
class Situation:
    """One configuration and the replicas that should run it."""

    hash: str
    strategy: str
    written_at: datetime
    replicas: tuple[Replica, ...]
    deployment: Deployment | None
    now: datetime

    @property
    def lagging(self) -> list[Replica]:
        """Return the replicas that do not run it."""
        return [replica for replica in self.replicas if replica.hash != self.hash]

    @property
    def is_acknowledged(self) -> bool:
        """Return whether there are replicas, and all of them run it."""
        return bool(self.replicas) and not self.lagging

    @property
    def needs_new_pods(self) -> bool:
        """Return whether replicas only load it at their start."""
        return self.strategy == RESTART or any(self.troubles(NEEDS_RESTART))

    @property
    def is_restarting(self) -> bool:
        """Return whether the pods are being restarted for it."""
        return self.strategy == RESTART or (self.deployment is not None and self.deployment.stamp == self.hash)

    @property
    def rolls_on(self) -> bool:
        """Return whether the Deployment is still replacing pods for it."""
        return self.is_restarting and self.deployment is not None and not self.deployment.is_rolled_out

    def troubles(self, kind: str) -> Iterable[Trouble]:
        """Return the errors that replicas report about this configuration."""
        for replica in self.replicas:
            if replica.trouble and replica.trouble.kind == kind and replica.trouble.hash == self.hash:
                yield replica.trouble

    def failing(self, scheduler_name: str, *, or_before: bool = False) -> Trouble | None:
        """Return the plugin that fails on every pod; `or_before` also counts reports about the previous one."""
        for replica in self.replicas:
            found = replica.trouble
            if found is None or found.kind != FAILING or found.scheduler_name != scheduler_name:
                continue
            if found.hash == self.hash or (or_before and found.hash == replica.hash):
                return found
        return None

    def stalled(self, scheduler_name: str) -> Trouble | None:
        """Return the plugin of this profile that blocks a replica, whatever configuration that runs."""
        for replica in self.replicas:
            found = replica.trouble
            if found is not None and found.kind == STALLED and found.scheduler_name == scheduler_name:
                return found
        return None

    def contended(self, scheduler_name: str) -> Contention | None:
        """Return a profile's rejections by kubelets, if they are too many; only the leader reports them."""
        found = (replica.contended.get(scheduler_name) for replica in self.replicas)
        return next((each for each in found if each is not None), None)

    def due(self, replica: Replica, within: timedelta, since: datetime) -> datetime:
        """Return the deadline for a replica to run it."""
        return max(since, self.written_at, replica.created) + within


@dataclass(frozen=True)
class Trial:
    """A running spec, and its state."""

    ran: ServedSpec
    scheduler_name: str
    deadline: timedelta
    is_blamed: bool  # the scheduler rejected it
    had_files: bool  # a rollback target has plugin files


def after_trial(past: Past, trial: Trial, at: Situation) -> Past:
    """Return the past of a profile, updated by its trial."""
    ran, deadline, failing = trial.ran, trial.deadline, at.failing(trial.scheduler_name)
    if past.has_failed(ran.hash):
        return past
    if (stalled := at.stalled(trial.scheduler_name)) and stalled.hash == at.hash:
        return _condemned(past, ran, f"{stalled.plugin} blocked a replica: {stalled.message}")
    if past.ran_well(ran.hash):
        return past
    if trial.is_blamed:
        return _failed(past, ran, REFUSED, next((each.message for each in at.troubles(REFUSED_BY_REPLICA)), ""))
    if past.last_good is not None:
        if failing is not None:
            return _failed(past, ran, PLUGIN_FAILING, f"{failing.plugin} failed: {failing.message}")
        if late := _late(past, trial, at):
            return _failed(past, ran, NOT_ACKNOWLEDGED, _about_late(late, deadline, at))
    if failing is None and at.is_acknowledged and not at.rolls_on and at.now >= proven_at(past, deadline):
        return _proven(past, ran)
    return past


def _condemned(past: Past, ran: ServedSpec, message: str) -> Past:
    """Roll back a spec that blocks replicas, even if it worked before and there is no other."""
    failed = _failed(past, ran, PLUGIN_FAILING, message)
    return replace(failed, last_good=None) if past.ran_well(ran.hash) else failed


@dataclass(frozen=True)
class OnTrial:
    """A profile whose spec is still on trial."""

    scheduler_name: str
    applied: datetime


def blamed_for_refusal(on_trial: Mapping[str, OnTrial], at: Situation) -> set[str]:
    """Return the profiles on trial that a rejection names, otherwise the newest ones: older ones were not rejected."""
    messages = [trouble.message for trouble in at.troubles(REFUSED_BY_REPLICA)]
    if not messages:
        return set()
    named = {name for name, one in on_trial.items() if any(_names(text, one.scheduler_name) for text in messages)}
    last = max((one.applied for one in on_trial.values()), default=None)
    return named or {name for name, one in on_trial.items() if one.applied == last}


def _names(text: str, scheduler: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(scheduler)}(?![\w-]|\.\w)", text) is not None


def proven_at(past: Past, deadline: timedelta) -> datetime:
    """Return when the trial of a spec that all replicas run ends."""
    applied = moment(past.applied_at)
    # The time of acknowledgement is not recorded for a spec below a newer one that cannot run.
    return max(applied, past.ready_since or applied + deadline) + deadline


def next_moments(past: Past, ran_well: bool, deadline: timedelta, at: Situation) -> list[datetime]:
    """Return the times when the state of a profile may change without an event."""
    applied = moment(past.applied_at)
    moments = [at.due(replica, deadline, applied) for replica in at.lagging]
    if not ran_well and at.is_acknowledged:
        moments.append(proven_at(past, deadline))
    return [each for each in moments if each > at.now]


def _late(past: Past, trial: Trial, at: Situation) -> list[Replica]:
    """Return the replicas past the deadline. A pod that is not running does not count against a spec it never saw.

    Nor does one that went silent before it tried this spec while running custom plugins: these may block it, and must
    not be restored.
    """
    if past.ready_since is not None:
        return []
    applied = moment(past.applied_at)
    counting = [replica for replica in at.lagging if replica.is_running or at.is_restarting]
    if trial.had_files and not at.is_restarting:
        counting = [replica for replica in counting if replica.trying == at.hash or replica.trouble is not None]
    return [replica for replica in counting if at.now >= at.due(replica, trial.deadline, applied)]


def _about_late(late: list[Replica], deadline: timedelta, at: Situation) -> str:
    names = ", ".join(replica.name for replica in late)
    said = "".join(f"; {each.name} reports: {each.trouble.message}" for each in late if each.trouble)
    return f"{len(late)} of {len(at.replicas)} replicas did not run it within {deadline.seconds} s: {names}{said}"


def _failed(past: Past, ran: ServedSpec, reason: str, message: str) -> Past:
    return replace(past, failed=FailedSpec(spec_hash=ran.hash, reason=reason, message=shortened(message)))


def _proven(past: Past, ran: ServedSpec) -> Past:
    # Another spec has worked since: the failed one may be retried.
    good = GoodSpec(generation=ran.generation, spec_hash=ran.hash, spec=dict(ran.spec))
    return replace(past, last_good=good, failed=None)
