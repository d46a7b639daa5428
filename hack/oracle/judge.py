"""Lets both schedulers decide the same scenarios and finds where they differ."""

import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace

from kit.admin import Refused
from localcluster.progress import Step as Progress
from oracle.compare import differences, subjects_of
from oracle.decision import Decision
from oracle.ours import Ours
from oracle.real import RealScheduler, Step
from oracle.scenario import Scenario
from oracle.scheduler_log import NoAnswer
from oracle.shrink import Shrinker

Witness = Callable[[Scenario, Decision], None]


@dataclass(frozen=True)
class Finding:
    """A decision in which ours differs."""

    scenario: Scenario
    real: Decision
    ours: Decision
    differences: list[str]

    def story(self) -> str:
        """Everything that a person needs to repeat it."""
        said = "\n".join(f"  - {sentence}" for sentence in self.differences)
        scenario = self.scenario
        head = f"{scenario.subject}, seed {scenario.seed}: ours decides {self.real.pod} differently\n{said}"
        answers = f"--- the real one\n{self.real.to_json()}\n--- ours\n{self.ours.to_json()}"
        return f"{head}\n--- scenario\n{scenario.to_yaml()}{answers}"


class Judge:
    """Both schedulers; without ours it only lets the real one decide."""

    def __init__(
        self, real: RealScheduler, ours: Ours | None, witness: Witness = lambda _scenario, _decision: None
    ) -> None:
        self._real = real
        self._ours = ours
        self._witness = witness

    def first_difference(self, scenario: Scenario) -> Finding | None:
        """The first decision in which they differ; the witness sees every decision of the real one up to there."""
        with closing(self._real.play(scenario)) as steps:
            for step in steps:
                self._witness(scenario, step.decision)
                if self._ours and (finding := self._compared(self._ours, scenario, step)):
                    return finding
        return None

    def smallest(self, finding: Finding, seconds: float) -> Finding:
        """The same difference in the smallest scenario found; as it is if it does not show again."""
        quiet = Judge(self._real, self._ours)
        latest = quiet.first_difference(finding.scenario)
        if latest is None:
            # The decision depends on chance or time, or the real one had not seen the whole cluster.
            return replace(finding, differences=[*finding.differences, "again: it did not show a second time"])
        wanted = subjects_of(latest.differences)

        def shows_difference(scenario: Scenario) -> bool:
            nonlocal latest
            try:
                again = quiet.first_difference(scenario)
            except (Refused, NoAnswer):
                # What is no longer a valid scenario shows nothing.
                return False
            if again and subjects_of(again.differences) & wanted:
                latest = again
                return True
            return False

        with Progress(f"shrinking seed {finding.scenario.seed}"):
            Shrinker(shows_difference, seconds).smallest(finding.scenario)
        return latest

    def _compared(self, ours: Ours, scenario: Scenario, step: Step) -> Finding | None:
        try:
            decided = ours.decide(step.objects, step.pod, step.decision.node)
        except Exception:
            # A crash of ours is a difference like any other, and is shrunk like one.
            crash = traceback.format_exc()
            return Finding(scenario, step.decision, Decision(step.decision.pod), [f"crash: {crash}"])
        found = differences(step.decision, decided)
        return Finding(scenario, step.decision, decided, found) if found else None
