"""What is known of each gang besides its definition: who of it is placed, and how its last attempt ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pilotage.framework.gang_room import Wish
from pilotage.model.gangs import MIN_LABEL, GangName, gang_of
from pilotage.model.moments import seconds_of
from pilotage.model.pod import Pod

MOST_FORGOTTEN = 10_000  # gangs without a placed pod that are remembered for how they failed


@dataclass(slots=True)
class GangRecord:
    """One gang."""

    placed: dict[str, Pod] = field(default_factory=dict)  # by uid
    failed_at: float | None = None
    backs_off_until: float = 0.0
    wish: Wish | None = None  # of the last attempt that failed
    why: str = ""  # it failed
    told: frozenset[str] = frozenset()  # the uids of the pods that were told so
    let_go: frozenset[str] = frozenset()  # the uids of the pods whose quorum was there, where that must be known


class GangRecords:
    """All gangs that have a pod on a node, and those that failed not long ago."""

    def __init__(self) -> None:
        self._records: dict[GangName, GangRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def add(self, pod: Pod) -> None:
        """Count a pod that has its place."""
        gang = gang_of(pod)
        if gang is not None:
            self._record(gang).placed[pod.uid] = pod

    def remove(self, pod: Pod) -> None:
        """Count it no more."""
        gang = gang_of(pod)
        record = self._records.get(gang) if gang is not None else None
        if gang is None or record is None:
            return
        record.placed.pop(pod.uid, None)
        if not record.placed and record.failed_at is None:
            del self._records[gang]

    def pods(self, gang: GangName) -> list[Pod]:
        """Return the pods of a gang that have a place."""
        record = self._records.get(gang)
        return [] if record is None else list(record.placed.values())

    def placed(self, gang: GangName) -> int:
        """Return how many pods of a gang have a place and are not about to lose it."""
        record = self._records.get(gang)
        return 0 if record is None else sum(not pod.is_terminating for pod in record.placed.values())

    def least_by_labels(self, gang: GangName, pod: Pod) -> int | None:
        """Return how many pods a gang needs that only labels define: the most that any says; None if this is silent."""
        numbers = [_whole(each.labels.get(MIN_LABEL, "")) for each in (pod, *self.pods(gang))]
        return None if numbers[0] is None else max(1, *(number or 1 for number in numbers))

    def fail(
        self, gang: GangName, now: float, pods: Sequence[Pod], needed: int, why: str = "", backoff: float = 0
    ) -> None:
        """Take note of an attempt that failed, of which its pods are told."""
        record = self._record(gang)
        record.failed_at, record.why = now, why
        record.wish, record.told = Wish.of(pods, needed), frozenset(pod.uid for pod in pods)
        if backoff and record.backs_off_until <= now:
            record.backs_off_until = now + backoff

    def succeed(self, gang: GangName) -> None:
        """Forget how the attempts before ended."""
        record = self._records.get(gang)
        if record is not None:
            record.failed_at, record.backs_off_until, record.wish = None, 0.0, None
            record.why, record.told = "", frozenset()
            if not record.placed:
                del self._records[gang]

    def let_go(self, gang: GangName) -> None:
        """Take note that all pods that have a place now had their quorum."""
        record = self._record(gang)
        record.let_go = frozenset(record.placed)

    def was_let_go(self, gang: GangName, pod: Pod) -> bool:
        """Tell whether a pod had its quorum, and others that had it too have a place."""
        record = self._records.get(gang)
        return record is not None and pod.uid in record.let_go and not record.let_go.isdisjoint(record.placed)

    def backs_off(self, gang: GangName, now: float) -> bool:
        """Tell whether a gang is not to be tried yet."""
        record = self._records.get(gang)
        return record is not None and now < record.backs_off_until

    def wish(self, gang: GangName) -> Wish | None:
        """Return what the last attempt lacked; None if there was none."""
        record = self._records.get(gang)
        return None if record is None else record.wish

    def failure(self, gang: GangName, pods: Sequence[Pod], after: float) -> str | None:
        """Return what these pods were told about the last attempt, if that was after a moment."""
        record = self._records.get(gang)
        if record is None or record.failed_at is None or record.failed_at < after:
            return None
        return record.why if all(pod.uid in record.told for pod in pods) else None

    def since(self, gang: GangName, created: str | None, otherwise: float) -> float:
        """Return since when a gang waits for its turn: its last failure, or else its creation."""
        record = self._records.get(gang)
        if record is not None and record.failed_at is not None:
            return record.failed_at
        moment = seconds_of(created)
        return otherwise if moment is None else moment

    def _record(self, gang: GangName) -> GangRecord:
        if len(self._records) > MOST_FORGOTTEN:
            self._records = {name: each for name, each in self._records.items() if each.placed}
        return self._records.setdefault(gang, GangRecord())


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
