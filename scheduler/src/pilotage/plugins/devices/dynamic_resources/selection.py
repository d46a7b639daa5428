"""Which kinds of devices an expression selects; each is evaluated once."""

from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from weakref import WeakKeyDictionary

from pilotage.model.cel import CelDevice, CompileError, EvaluationError, Selector, compile_selector, hinted
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind
from pilotage.plugins.devices.dynamic_resources.expression_devices import seen_by_expressions
from pilotage.plugins.devices.dynamic_resources.meter import Meter
from pilotage.plugins.devices.dynamic_resources.outcomes import Part, What

MOST_SELECTORS = 1024  # distinct texts whose answers are kept
MOST_ANSWERS = 16384  # of one selector, by what it reads of a device

Answer = bool | str  # or the text of an error


class Selection:
    """The answers of one expression."""

    def __init__(self, text: str | None) -> None:
        self._text = text
        self.complaint = "" if text is not None else ": CEL expression empty (unsupported selector type?)"
        self._selector: Selector | None = None  # compiled by the first question
        self._by_kind: WeakKeyDictionary[DeviceKind, Answer] = WeakKeyDictionary()
        self._by_projection: OrderedDict[Hashable, Answer] = OrderedDict()

    def answer(self, kind: DeviceKind, meter: Meter) -> Answer:
        """Return whether it selects devices of a kind, or the error; raise Paused if there is no time to find out."""
        base = kind.base
        known = self._by_kind.get(base)
        if known is None:
            with meter:
                known = self._by_kind[base] = self._projected(base)
        return known

    def _projected(self, kind: DeviceKind) -> Answer:
        selector = self._compiled()
        if selector is None:
            return self.complaint
        device = seen_by_expressions(kind)
        projection = selector.projection(device)
        known = self._by_projection.get(projection)
        if known is None:
            if len(self._by_projection) >= MOST_ANSWERS:
                self._by_projection.popitem(last=False)
            known = self._by_projection[projection] = _evaluated(selector, device)
        return known

    def _compiled(self) -> Selector | None:
        if self._selector is None and self._text is not None and not self.complaint:
            try:
                self._selector = compile_selector(self._text)
            except CompileError as wrong:
                self.complaint = f": CEL compile error: {wrong}"
        return self._selector

    def failure(self, answer: str, device: int) -> tuple[Part, ...]:
        """Return the end of an error text, from behind the selector's number."""
        return (answer,) if self.complaint else (" on device ", (What.DEVICE, device), f": CEL runtime error: {answer}")


def _evaluated(selector: Selector, device: CelDevice) -> Answer:
    try:
        return selector.matches(device)
    except EvaluationError as wrong:
        return hinted(str(wrong))


@lru_cache(MOST_SELECTORS)
def selection_of(text: str | None) -> Selection:
    """Return the answers of an expression; None is a selector without one."""
    return Selection(text)
