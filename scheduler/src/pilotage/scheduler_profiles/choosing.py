"""Chooses the spec of each profile to serve: the current one if possible, otherwise an earlier one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pilotage.config.handshake import PluginFile
from pilotage.scheduler_profiles.hashes import canonical
from pilotage.scheduler_profiles.judge import INVALID, TOO_LARGE, Complaint, Judge, Verdict
from pilotage.scheduler_profiles.render import joined_extenders

LARGEST_TOTAL = 384 << 10  # bytes; a ConfigMap must hold more than one version
_KEPT_UNITS = 3  # of a profile with plugin files: the running, the last acknowledged and the last good one
MOST_PROFILES = 100  # of one scheduler, which has separate plugins for each, and notifies all of them of every pod
DUPLICATE, DIFFERENT_QUEUE_SORT, TOO_MANY = "DuplicateSchedulerName", "DifferentQueueSort", "TooManyProfiles"


@dataclass(frozen=True)
class Candidate:
    """A spec that could be served."""

    hash: str
    generation: int
    spec: Mapping[str, Any]
    verdict: Verdict
    is_wish: bool = False  # it is the current spec
    is_running: bool = False  # it is in the current configuration
    files: tuple[PluginFile, ...] = ()


@dataclass(frozen=True)
class Applicant:
    """A profile, and the specs that could be served for it, best first."""

    name: str
    candidates: tuple[Candidate, ...]


@dataclass
class Choice:
    """The chosen spec of each profile, and why others were not chosen."""

    served: dict[str, Candidate] = field(default_factory=dict)
    refused: dict[str, Complaint] = field(default_factory=dict)


def choose(applicants: Sequence[Applicant], judge: Judge) -> Choice:
    """Choose for all profiles; older ones take precedence, and the queue order is that with the most served profiles.

    An edit of the oldest profile could change the queue order of all others. It does so only if none of them has to
    stop for that: the requested order that keeps the most profiles running is chosen.
    """
    wanted = dict.fromkeys(
        candidate.verdict.queue_sort for applicant in applicants for candidate in applicant.candidates
    )
    running = {applicant.name for applicant in applicants if any(each.is_running for each in applicant.candidates)}
    choices = [_choose(applicants, order, judge) for order in wanted] or [Choice()]
    return max(choices, key=lambda choice: len(running & choice.served.keys()))


def _choose(applicants: Sequence[Applicant], order: str, judge: Judge) -> Choice:
    choice = Choice()
    for applicant in applicants:
        for candidate in applicant.candidates:
            complaint = _against(candidate, order, choice, judge)
            if complaint is None:
                choice.served[applicant.name] = candidate
                break
            if candidate.is_wish:
                choice.refused[applicant.name] = complaint
    return choice


def _against(candidate: Candidate, order: str, choice: Choice, judge: Judge) -> Complaint | None:
    verdict = candidate.verdict
    if len(choice.served) >= MOST_PROFILES:
        text = f"spec: this scheduler already serves {MOST_PROFILES} older profiles, which is the limit"
        return Complaint(TOO_MANY, f"{text}; delete some, or serve this one with its own release: spec.instance")
    taken = {each.verdict.scheduler_name: name for name, each in choice.served.items()}
    if older := taken.get(verdict.scheduler_name):
        text = f"spec.schedulerName: {verdict.scheduler_name} is used by the older profile {older}"
        return Complaint(DUPLICATE, f"{text}; choose another name, or delete that profile")
    if verdict.queue_sort != order:
        sorter, others = verdict.queue_sort.partition(" ")[0], order.partition(" ")[0]
        how = f"with {others}" if sorter != others else f"with other arguments of {others}"
        text = f"spec.plugins: {sorter} sorts the queue here, and the other profiles sort it {how}"
        return Complaint(
            DIFFERENT_QUEUE_SORT,
            f"{text}; all profiles share one queue: sort as the others do, or change all profiles, the oldest last",
        )
    return _against_all(candidate, choice, judge)


def _against_all(candidate: Candidate, choice: Choice, judge: Judge) -> Complaint | None:
    everybody = [*choice.served.values(), candidate]
    size = sum(map(_size, everybody))
    if size > LARGEST_TOTAL and (choice.served or candidate.files):
        text = f"spec: with the older profiles and all plugin files the configuration has {size >> 10} KiB"
        return Complaint(
            TOO_LARGE,
            f"{text}, the limit is {LARGEST_TOTAL >> 10}; shorten the arguments of plugins, or their files",
        )
    extenders = joined_extenders(each.verdict.extenders for each in everybody)
    # Only extenders affect other profiles; without them, profiles that are valid alone are valid together.
    # Checks by custom plugins are left to the scheduler: their code is not run here.
    profiles = [each.verdict.profile for each in everybody if not each.files]
    if extenders and profiles and choice.served and (trouble := judge.together(profiles, extenders)):
        return Complaint(INVALID, f"spec.extenders: it conflicts with the older profiles: {trouble}")
    return None


def _size(candidate: Candidate) -> int:
    """Return the size of a spec in the ConfigMap, which keeps its plugin files for several units."""
    size = len(canonical(candidate.verdict.profile))
    if not candidate.files:
        return size
    return _KEPT_UNITS * (size + sum(len(file.text.encode(errors="surrogatepass")) for file in candidate.files))
