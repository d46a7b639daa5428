"""Which devices of a pool an alternative can have, as far as that does not depend on what is taken."""

from collections.abc import Callable
from typing import NamedTuple

from pilotage.model.tolerations import first_untolerated
from pilotage.plugins.devices.dynamic_resources.capacity import Consumed, ImpossibleRequest, consumption
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative, named
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind
from pilotage.plugins.devices.dynamic_resources.meter import Meter
from pilotage.plugins.devices.dynamic_resources.outcomes import Failure, Part, What
from pilotage.plugins.devices.dynamic_resources.pools import EVERY_DEVICE, PoolShape
from pilotage.plugins.devices.dynamic_resources.selection import Selection, selection_of

MOST_KEPT = 16384  # kinds or shapes


class Verdict(NamedTuple):
    """What an alternative makes of a kind of device."""

    selected: bool = False
    consumed: Consumed | None = None  # None: a capacity does not suffice
    tainted: bool = False
    failure: Callable[[int], tuple[Part, ...]] | None = None  # the error text for the device at a place
    failure_key: tuple[Part, ...] = ()


UNSELECTED = Verdict()


class Stopped(Exception):
    """The search met an error."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class Choices:
    """All that is known of one alternative, for any pool."""

    def __init__(self, claim: int, alternative: Alternative, meter: Meter) -> None:
        self._meter = meter
        self.alternative = alternative
        self._claim = claim
        self._class_selections = [selection_of(text) for text in alternative.class_selectors]
        self._selections = [selection_of(text) for text in alternative.selectors]
        self._verdicts: dict[DeviceKind, Verdict] = {}
        self._by_shape: dict[PoolShape, Choice] = {}

    def of(self, shape: PoolShape) -> "Choice":
        """Return the choice among the devices of a pool."""
        known = self._by_shape.get(shape)
        if known is None:
            if len(self._by_shape) >= MOST_KEPT:
                self._by_shape.clear()
            known = self._by_shape[shape] = Choice(self, shape)
        return known

    def verdict(self, kind: DeviceKind) -> Verdict:
        """Return what the alternative makes of a kind of device."""
        known = self._verdicts.get(kind)
        if known is None:
            if len(self._verdicts) >= MOST_KEPT:
                self._verdicts.clear()
            known = self._verdicts[kind] = self._judged(kind)
        return known

    def passed(self, kind: DeviceKind) -> int:
        """Return how many selectors a kind of device passes before the first that it does not."""
        selections = (*self._class_selections, *self._selections)
        return next(
            (n for n, each in enumerate(selections) if each.answer(kind, self._meter) is not True), len(selections)
        )

    def _judged(self, kind: DeviceKind) -> Verdict:
        for prefix, selections in ((True, self._class_selections), (False, self._selections)):
            for number, selection in enumerate(selections):
                answer = selection.answer(kind, self._meter)
                if answer is False:
                    return UNSELECTED
                if answer is not True:
                    return self._failed(prefix, number, selection, answer)
        try:
            consumed = consumption(kind, self.alternative.capacity)
        except ImpossibleRequest as wrong:
            return self._impossible(str(wrong))
        is_tainted = bool(kind.taints) and first_untolerated(kind.taints, self.alternative.tolerations) is not None
        return Verdict(True, consumed, is_tainted)

    def _failed(self, of_class: bool, number: int, selection: Selection, answer: str) -> Verdict:
        owner: tuple[Part, ...] = ("claim ", (What.CLAIM, self._claim))
        if of_class:
            owner = (f"class {self.alternative.device_class}",)

        def failure(place: int) -> tuple[Part, ...]:
            return *owner, f": selector #{number}", *selection.failure(answer, place)

        return Verdict(failure=failure, failure_key=failure(0))

    def _impossible(self, text: str) -> Verdict:
        def failure(place: int) -> tuple[Part, ...]:
            # kube-scheduler leaves out driver and pool where it collects all devices.
            what = What.DEVICE_ALONE if self.alternative.takes_all else What.DEVICE
            start = named(self._claim, self.alternative.label)
            return *start, "checking capacity for device ", (what, place), f": {text}"

        return Verdict(True, failure=failure, failure_key=failure(0))


class Choice:
    """The devices of a pool for an alternative, judged in order, and only as far as somebody looks."""

    __slots__ = ("_choices", "_known", "_shape", "good", "tainted", "wrong")

    def __init__(self, choices: Choices, shape: PoolShape) -> None:
        self._choices, self._shape = choices, shape
        self._known = 0  # a bit for each judged device
        self.good = 0  # selected, and large enough if unused
        self.tainted = 0
        self.wrong = 0  # an error

    def first(self, free: int) -> int:
        """Return the first of these devices that is good or wrong; -1 if there is none."""
        unknown = free & ~self._known
        hopeful = free & (self.good | self.wrong)
        while unknown:
            lowest = unknown & -unknown
            if hopeful and hopeful & -hopeful < lowest:
                break
            if self._judge(lowest):
                return lowest.bit_length() - 1
            unknown ^= lowest
        return (hopeful & -hopeful).bit_length() - 1

    def judge_all(self, which: int) -> int:
        """Judge all of these devices, and return how many were not judged before."""
        unknown = which & ~self._known
        count = unknown.bit_count()
        while unknown:
            lowest = unknown & -unknown
            self._judge(lowest)
            unknown ^= lowest
        return count

    def verdict(self, place: int) -> Verdict:
        """Return the verdict on a device."""
        return self._choices.verdict(self._shape.kinds[place])

    def stop_at(self, place: int, offset: int) -> Stopped:
        """Return the error of a wrong device."""
        failure = self.verdict(place).failure
        assert failure is not None
        return Stopped(Failure(failure(place + offset)))

    def _judge(self, bit: int) -> bool:
        verdict = self.verdict(bit.bit_length() - 1)
        self._known |= bit
        is_here = self._shape.here == EVERY_DEVICE or bool(self._shape.here & bit)
        if verdict.failure is not None and (is_here or not verdict.selected):
            self.wrong |= bit
            return True
        if verdict.consumed is None or not is_here:
            return False
        self.good |= bit
        if verdict.tainted:
            self.tainted |= bit
        return True
