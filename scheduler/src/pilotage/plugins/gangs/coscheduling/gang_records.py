"""Records of each gang: its placed pods, and the result of its last attempt."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pilotage.model.gangs import MIN_LABEL, GangName, gang_of
from pilotage.model.moments import seconds_of
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling.gang_room import Wish
from pilotage.plugins.gangs.coscheduling.greatest import Greatest

MOST_FORGOTTEN = 10_000  # remembered failed gangs without a placed pod


@dataclass(slots=True)
class GangRecord:
    """One gang; values needed for every pod are updated incrementally."""

    placed: dict[str, Pod] = field(default_factory=dict)  # by uid
    staying: int = 0  # the number of them that are not terminating
    minima: Greatest = field(default_factory=Greatest)  # the gang's size by the pods' labels
    failed_at: float | None = None
    backs_off_until: float = 0.0
    wish: Wish | None = None  # of the last attempt that failed
    why: str = ""  # the last attempt failed
    told: frozenset[str] = frozenset()  # the uids of the pods with this outcome
    lacks_members: bool = False  # the last attempt found fewer pods than the gang needs
    let_go: frozenset[str] = frozenset()  # the uids of the pods that were part of a quorum, if it matters

    def add(self, pod: Pod) -> None:
        """Add a pod, in its current state."""
        self.remove(pod.uid)
        self.placed[pod.uid] = pod
        self.staying += not pod.is_terminating
        if (least := _least(pod)) is not None:
            self.minima.add(least)

    def remove(self, uid: str) -> None:
        """Remove a pod, given as it was added."""
        pod = self.placed.pop(uid, None)
        if pod is None:
            return
        self.staying -= not pod.is_terminating
        if (least := _least(pod)) is not None:
            self.minima.remove(least)


class GangRecords:
    """All gangs with a placed pod, and recently failed ones."""

    def __init__(self) -> None:
        self._records: dict[GangName, GangRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def add(self, pod: Pod) -> None:
        """Add a placed pod."""
        gang = gang_of(pod)
        if gang is not None:
            self._record(gang).add(pod)

    def remove(self, pod: Pod) -> None:
        """Remove it."""
        gang = gang_of(pod)
        record = self._records.get(gang) if gang is not None else None
        if gang is None or record is None:
            return
        record.remove(pod.uid)
        if not record.placed and record.failed_at is None:
            del self._records[gang]

    def pods(self, gang: GangName) -> list[Pod]:
        """Return the placed pods of a gang."""
        record = self._records.get(gang)
        return [] if record is None else list(record.placed.values())

    def placed(self, gang: GangName) -> int:
        """Return how many pods of a gang are placed and not terminating."""
        record = self._records.get(gang)
        return 0 if record is None else record.staying

    def least_by_labels(self, gang: GangName, pod: Pod) -> int | None:
        """Return the size of a gang defined by labels: the highest value; None without labels."""
        least, record = _least(pod), self._records.get(gang)
        return None if least is None else max(1, least, 1 if record is None else record.minima.greatest(1))

    def fail(
        self, gang: GangName, now: float, pods: Sequence[Pod], needed: int, why: str = "", backoff: float = 0
    ) -> None:
        """Record a failed attempt, and its pods."""
        record = self._record(gang)
        record.failed_at, record.why = now, why
        record.wish, record.told = Wish.of(pods, needed), frozenset(pod.uid for pod in pods)
        if backoff and record.backs_off_until <= now:
            record.backs_off_until = now + backoff

    def succeed(self, gang: GangName) -> None:
        """Forget earlier failures."""
        record = self._records.get(gang)
        if record is not None:
            record.failed_at, record.backs_off_until, record.wish = None, 0.0, None
            record.why, record.told = "", frozenset()
            if not record.placed:
                del self._records[gang]

    def note_members(self, gang: GangName, are_enough: bool) -> None:
        """Record whether a gang has enough pods."""
        if not are_enough:
            self._record(gang).lacks_members = True
        elif (record := self._records.get(gang)) is not None:
            record.lacks_members = False

    def lacks_members(self, gang: GangName) -> bool:
        """Return whether the last attempt found fewer pods of a gang than it needs."""
        record = self._records.get(gang)
        return record is not None and record.lacks_members

    def let_go(self, gang: GangName) -> None:
        """Record that the quorum was reached for all currently placed pods."""
        record = self._record(gang)
        record.let_go = frozenset(record.placed)

    def was_let_go(self, gang: GangName, pod: Pod) -> bool:
        """Return whether the quorum was reached for a pod, and others of that quorum are placed."""
        record = self._records.get(gang)
        return record is not None and pod.uid in record.let_go and not record.let_go.isdisjoint(record.placed)

    def backs_off(self, gang: GangName, now: float) -> bool:
        """Return whether a gang is in back-off."""
        record = self._records.get(gang)
        return record is not None and now < record.backs_off_until

    def wish(self, gang: GangName) -> Wish | None:
        """Return the requests of the last failed attempt; None if there was none."""
        record = self._records.get(gang)
        return None if record is None else record.wish

    def failure(self, gang: GangName, pods: Sequence[Pod], after: float) -> str | None:
        """Return the outcome of the last attempt for these pods, if it was later than a time."""
        record = self._records.get(gang)
        if record is None or record.failed_at is None or record.failed_at < after:
            return None
        return record.why if all(pod.uid in record.told for pod in pods) else None

    def since(self, gang: GangName, created: str | None, otherwise: float) -> float:
        """Return since when a gang has been waiting: its last failure, or its creation."""
        record = self._records.get(gang)
        if record is not None and record.failed_at is not None:
            return record.failed_at
        moment = seconds_of(created)
        return otherwise if moment is None else moment

    def _record(self, gang: GangName) -> GangRecord:
        if len(self._records) > MOST_FORGOTTEN:
            self._records = {name: each for name, each in self._records.items() if each.placed}
        return self._records.setdefault(gang, GangRecord())


def _least(pod: Pod) -> int | None:
    text = pod.labels.get(MIN_LABEL, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
