"""The last decisions, newest first."""

from dataclasses import dataclass
from typing import Literal, get_args

from pilotage.scheduling.decision_log import Decision
from pilotage.views import answers
from pilotage.views.answers import AttemptShown, DecisionShown
from pilotage.views.paging import InvalidQuestion, after, continued
from pilotage.views.reasons import groups_of, summary
from pilotage.views.state import STEP, Stamp, State, Steps, when
from pilotage.views.viewer import Viewer, Words

OutcomeName = Literal["", "placed", "waits", "nominated", "error"]


@dataclass(frozen=True)
class DecisionsQuestion:
    """Selects decisions."""

    since: int = 0  # the lowest number to include
    node: str = ""
    namespace: str = ""
    outcome: OutcomeName = ""
    profile: str = ""
    limit: int = 100
    continue_: str = ""

    def __post_init__(self) -> None:
        """Reject unknown values."""
        known = get_args(OutcomeName)
        if self.outcome not in known:
            raise InvalidQuestion(f"outcome: {self.outcome!r} is unknown; use one of {', '.join(known[1:])}")


def decisions(state: State, viewer: Viewer, stamp: Stamp, question: DecisionsQuestion) -> Steps[answers.Decisions]:
    """Return a page of decisions; Expired if they are no longer kept."""
    behind = after(question.continue_, tuple[int])
    words, items, token = Words(state, viewer), list[DecisionShown](), ""
    looked = state.log.newest_first(None if behind is None else behind[0])
    for place, (number, decision) in enumerate(looked):
        if place % STEP == STEP - 1:
            yield
        if number < question.since:
            break
        if not _matches(decision, viewer, question):
            continue
        if len(items) == question.limit:
            token = continued(number + 1)
            break
        items.append(shown(state, number, decision, words))
    return answers.Decisions(at=stamp.at, revision=stamp.revision, source=stamp.source, items=items, continue_=token)


def _matches(decision: Decision, viewer: Viewer, question: DecisionsQuestion) -> bool:
    if question.outcome and decision.outcome != question.outcome:
        return False
    if question.node and (not viewer.nodes or decision.node != question.node):
        return False
    if question.profile and decision.profile != question.profile:
        return False
    namespace = decision.namespace
    return viewer.sees(namespace) and question.namespace in ("", namespace)


def shown(state: State, number: int, decision: Decision, words: Words) -> DecisionShown:
    """Return a decision as the API shows it."""
    return DecisionShown(
        at=when(state.log.moment(decision.ended)),
        n=number,
        pod=decision.key,
        uid=decision.uid,
        attempt=decision.attempt,
        outcome=decision.outcome,
        node=decision.node if words.names_nodes else "",
        feasible=decision.feasible,
        nodes=nodes_of(decision),
        ties=decision.ties,
        micros=micros_of(decision),
        profile=decision.profile,
        hash=decision.hash,
        because=because(decision, words),
    )


def attempt_shown(state: State, decision: Decision, words: Words) -> AttemptShown:
    """Return a decision as one of the pod's attempts."""
    return AttemptShown(
        at=when(state.log.moment(decision.ended)),
        n=decision.attempt,
        outcome=decision.outcome,
        message=words(decision.message),
        groups=groups_of(decision.counted, words),
        node=decision.node if words.names_nodes else "",
        feasible=decision.feasible,
        nodes=nodes_of(decision),
        ties=decision.ties,
        micros=micros_of(decision),
        hash=decision.hash,
        because=because(decision, words),
    )


def nodes_of(decision: Decision) -> int:
    """Return how many nodes were evaluated."""
    return decision.nodes or sum(number for _, number in decision.counted)


def micros_of(decision: Decision) -> int:
    """Return how long the attempt took, in millionths of a second."""
    return round((decision.ended - decision.started) * 1e6)


def because(decision: Decision, words: Words) -> str:
    """Return the reason for the outcome in a few words."""
    match decision.outcome:
        case "placed" if decision.feasible == 1:
            return "the only node that fits, or the one that was nominated"
        case "placed" if decision.ties > 1:
            return f"one of {decision.ties} nodes with the highest score"
        case "placed":
            return "the highest score"
        case "nominated" if decision.victims:
            return f"{decision.victims} pod(s) are evicted to make room"
        case _:
            return words(summary(decision.message, decision.counted))
