"""Plans for the proxy: which requests meet which trouble, the same ones for the same seed."""

import time
from collections.abc import Sequence
from itertools import cycle
from random import Random

from kit.fault_proxy import Fault, Trouble

BIND_FAULTS = tuple(fault for fault in Fault if fault is not Fault.TOO_MANY)
LONGEST_DELAY = 4.0  # seconds
SLOWEST = Trouble(slow=LONGEST_DELAY)


def is_bind(method: str, target: str) -> bool:
    """Tell whether a request binds a pod."""
    return method == "POST" and target.split("?")[0].endswith("/binding")


class BindTroubles:
    """Something goes wrong with a share of the binds: an answer is late, or one of the faults."""

    def __init__(self, seed: int, share: float = 0.3, faults: Sequence[Fault] = BIND_FAULTS) -> None:
        self._random = Random(seed)
        self._share = share
        self._faults: tuple[Fault | None, ...] = (None, *faults)

    def __call__(self, method: str, target: str) -> Trouble | None:
        """Choose."""
        if not is_bind(method, target) or self._random.random() >= self._share:
            return None
        fault = self._random.choice(self._faults)
        return Trouble(slow=self._random.uniform(0.5, LONGEST_DELAY) if fault is None else 0.0, fault=fault)


class BusyConnections:
    """Every second bind is done and answered with a false error; the others are slow, so that requests queue up."""

    def __init__(self, faults: Sequence[Fault] = (Fault.FALSE_500, Fault.FALSE_503, Fault.FALSE_504)) -> None:
        self._troubles = cycle([each for fault in faults for each in (Trouble(fault=fault), SLOWEST)])

    def __call__(self, method: str, target: str) -> Trouble | None:
        """Take the next one."""
        return next(self._troubles) if is_bind(method, target) else None


class Bursts:
    """For some seconds every request is refused with 429, then for some seconds none is, and so on."""

    def __init__(self, seconds: float = 3.0, pause: float = 3.0) -> None:
        self._seconds, self._period = seconds, seconds + pause
        self._began = time.monotonic()

    def __call__(self, method: str, target: str) -> Trouble | None:
        """Refuse, or not."""
        refuses = (time.monotonic() - self._began) % self._period < self._seconds
        return Trouble(fault=Fault.TOO_MANY) if refuses else None


class LateBinds:
    """Every bind reaches the server late: what was decided may be out of date by then."""

    def __init__(self, seed: int, longest: float = 3.0) -> None:
        self._random = Random(seed)
        self._longest = longest

    def __call__(self, method: str, target: str) -> Trouble | None:
        """Choose how late."""
        return Trouble(late=self._random.uniform(0.0, self._longest)) if is_bind(method, target) else None
