"""Whatever happens in whatever order, and wherever the operator is stopped: the end state is right."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kit.profile_world import FAILING, IGNORED, REFUSED, Conflict, ProfileWorld
from kit.tiers import examples
from pilotage.config.handshake import HASH, SERVED
from pilotage.config.load import load
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.hashes import spec_hash
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.profiles.actions import CreateProfile, DeleteProfile, PatchProfile, WakeUp
from pilotage_operator.profiles.config_map import is_intact
from pilotage_operator.profiles.reconcile import reconcile
from pilotage_operator.profiles.unit_judge import UnitJudge
from pilotage_operator.profiles.world import KeptProfile

CATALOGUE = built_in()
JUDGE = UnitJudge(Judge(CATALOGUE))
NAMES = st.sampled_from(["a", "b", "c"])
INVALID = {"plugins": [{"name": "Nobody"}]}
WAITING = {"NotAccepted", "RolledBack", "PluginFailing", "NoReplicas", "Waiting"}


def spec(number: int, scheduler: str | None, strategy: str, seconds: int) -> dict[str, Any]:
    found: dict[str, Any] = {"percentageOfNodesToScore": number} if number else {}
    if scheduler:
        found["schedulerName"] = scheduler
    return found | {"rollout": {"strategy": strategy, "progressDeadlineSeconds": seconds}}


SPECS = st.builds(
    spec,
    st.sampled_from([0, 50, 60, REFUSED, FAILING, IGNORED]),
    st.sampled_from([None, None, None, "shared"]),
    st.sampled_from(["HotReload", "HotReload", "Restart"]),
    st.sampled_from([15, 60]),
)


class Operator(RuleBasedStateMachine):
    """Profiles come, change and go; replicas answer late or never; the operator is stopped anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ProfileWorld()
        self.remembered: Mapping[str, str] = {}
        self.complete = False  # the last round was finished, and nothing has happened since

    @initialize(replicas=st.integers(1, 3))
    def start(self, replicas: int) -> None:
        self.world = ProfileWorld(replicas)

    # ---------------------------------------------------------------------------------------------- people

    @rule(name=NAMES, wanted=SPECS)
    def apply(self, name: str, wanted: dict[str, Any]) -> None:
        self.complete = False
        self.world.put(name, wanted)

    @rule(name=NAMES)
    def apply_nonsense(self, name: str) -> None:
        self.complete = False
        self.world.put(name, INVALID)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.complete = False
        self.world.profiles.pop(name, None)

    @rule(kept=st.sampled_from([None, (), (KeptProfile("kept", {}),), (KeptProfile("kept", {"base": "None"}),)]))
    def change_the_values(self, kept: tuple[KeptProfile, ...] | None) -> None:
        self.complete = False
        self.world.kept = kept

    @rule(what=st.sampled_from(["all", "scheduler-config.yaml", "served.json", "annotations"]))
    def damage_the_config_map(self, what: str) -> None:
        self.complete = False
        found = self.world.config_map
        if found is None or what == "all":
            self.world.config_map = None
        elif what == "annotations":
            found["metadata"]["annotations"] = {}
        else:
            found["data"][what] = "nonsense"

    # ---------------------------------------------------------------------------------------------- the cluster

    @rule(count=st.integers(1, 3))
    def some_replicas_react(self, count: int) -> None:
        self.complete = False
        if self.world.config_map is not None and is_intact(self.world.world().config_map):
            self.world.react(list(self.world.pods)[:count])

    @rule()
    def pods_are_replaced(self) -> None:
        self.complete = False
        self.world.replace_pods()

    @rule()
    def a_replica_comes(self) -> None:
        self.complete = False
        if len(self.world.pods) < 4:
            self.world.add_pod()

    @rule()
    def a_replica_goes(self) -> None:
        self.complete = False
        if len(self.world.pods) > 1:
            del self.world.pods[next(iter(self.world.pods))]

    @rule(seconds=st.sampled_from([1, 14, 61, 200]))
    def time_passes(self, seconds: int) -> None:
        self.complete = False
        self.world.now += timedelta(seconds=seconds)

    # ---------------------------------------------------------------------------------------------- the operator

    def look(self) -> None:
        found = self.world.world().config_map
        if found is not None and is_intact(found):
            self.remembered = found.data
        self.world.remembered = self.remembered

    @rule(stopped_after=st.none() | st.integers(0, 6))
    def operate(self, stopped_after: int | None) -> None:
        """One round; one that is stopped in between forgets everything."""
        self.look()
        before = dict(_served(self.remembered.get(SERVED, "")))
        actions = reconcile(self.world.world(), self.world.settings, JUDGE)
        for number, action in enumerate(actions):
            if number == stopped_after:
                self.remembered = {}
                return
            try:
                self.world.do(action)
            except Conflict:
                return
        # What becomes of a profile of the values is the next round's, for which its own change is the signal.
        changed = any(isinstance(each, CreateProfile | PatchProfile | DeleteProfile) for each in actions)
        # And a replica may have refused long ago what comes back now: the next round hears that.
        self.complete = not changed and not self.is_refused()
        self.nobody_is_dropped(before)

    def is_refused(self) -> bool:
        """Tell whether a replica has refused the configuration that is there now."""
        world = self.world.world()
        now = world.config_map.metadata.annotations.get(HASH) if world.config_map else None
        troubles = [replica.trouble for replica in world.replicas if replica.trouble]
        return any(trouble.kind == "refused" and trouble.hash == now for trouble in troubles)

    def nobody_is_dropped(self, before: dict[str, Any]) -> None:
        """Who ran and is not served now has gone, has been refused, or gave its name to an older profile."""
        for name, entry in before.items():
            stored = self.world.profiles.get(name)
            if stored is None or stored["metadata"]["uid"] != entry["uid"] or name in self.world.served:
                continue
            failed = stored["status"].get("failed", {}).get("specHash")
            scheduler = entry["spec"].get("schedulerName", name)
            taken = [each["spec"].get("schedulerName", other) for other, each in self.world.served.items()]
            assert failed == entry["hash"] or scheduler in taken, f"{name} was dropped"

    @invariant()
    @precondition(lambda self: self.complete)
    def there_is_nothing_left_to_do(self) -> None:
        self.look()
        again = reconcile(self.world.world(), self.world.settings, JUDGE)
        assert [each for each in again if not isinstance(each, WakeUp) and not getattr(each, "once", "")] == []

    @invariant()
    @precondition(lambda self: self.complete)
    def what_was_taken_back_does_not_run(self) -> None:
        for name, entry in self.world.served.items():
            failed = self.world.status(name).get("failed", {}).get("specHash")
            assert entry["hash"] != failed

    @invariant()
    @precondition(lambda self: self.complete)
    def the_scheduler_can_read_the_configuration(self) -> None:
        load(self.world.text, CATALOGUE)

    @invariant()
    @precondition(lambda self: self.complete)
    def every_profile_says_what_it_is(self) -> None:
        for name, stored in self.world.profiles.items():
            conditions = {each["type"]: each for each in stored["status"]["conditions"]}
            assert set(conditions) == {"Accepted", "Applied", "Ready", "RolledBack", "Warning", "Contended"}
            assert {each["observedGeneration"] for each in conditions.values()} == {stored["metadata"]["generation"]}
            if conditions["Ready"]["status"] == "True":
                assert self.world.served[name]["hash"] == spec_hash(stored["spec"])
            else:
                assert conditions["Ready"]["reason"] in WAITING
                assert conditions["Ready"]["message"]

    def teardown(self) -> None:
        """Left alone for long enough, everything comes to rest: ready, or with a reason that stays."""
        self.world.kept = None
        for _ in range(12):
            self.operate(None)
            self.world.replace_pods()
            self.world.react()
            self.world.now += timedelta(seconds=30)
        before = json.dumps(self.world.profiles)
        for _ in range(3):
            self.operate(None)
            self.world.now += timedelta(seconds=300)
        assert json.dumps(self.world.profiles) == before
        for name in self.world.profiles:
            self.rests(name)

    def rests(self, name: str) -> None:
        spec = self.world.profiles[name]["spec"]
        number, reason = spec.get("percentageOfNodesToScore"), self.world.condition(name, "Ready")[1]
        served = [each["spec"].get("percentageOfNodesToScore") for each in self.world.served.values()]
        if "plugins" in spec:
            assert reason == "NotAccepted"
        elif number in (REFUSED, FAILING, IGNORED):
            # A replica tells of one trouble at a time.
            assert reason in WAITING or served.count(FAILING) > 1
        elif IGNORED not in served and self.world.condition(name, "Accepted")[0] == "True":
            if self.world.status(name).get("failed", {}).get("reason") == "NotAcknowledged":
                return  # it was on trial together with one that nobody answered to
            assert reason == "Acknowledged"
            assert self.world.status(name)["lastGood"]["specHash"] == spec_hash(spec)


def _served(text: str) -> Any:
    return json.loads(text or "{}")


TestOperator = Operator.TestCase
TestOperator.settings = examples(100, stateful_step_count=30)


def test_what_was_refused_is_not_tried_again_after_a_crash_on_the_way_back() -> None:
    steps = Operator()
    steps.start(replicas=1)
    steps.apply("a", spec(0, None, "HotReload", 15))
    steps.apply("b", spec(REFUSED, None, "HotReload", 15))
    steps.operate(None)
    steps.some_replicas_react(1)
    steps.operate(stopped_after=1)
    steps.operate(None)
    steps.there_is_nothing_left_to_do()
    assert list(steps.world.served) == ["a"]
    assert steps.world.condition("b", "RolledBack")[0] == "True"
