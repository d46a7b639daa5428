"""The plan of a search: prepared claims, and what is known of kinds of devices for them."""

from collections.abc import Hashable

from pilotage.plugins.devices.dynamic_resources.choices import MOST_KEPT, Choices
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative, ClaimPlan
from pilotage.plugins.devices.dynamic_resources.constraints import value_of
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind
from pilotage.plugins.devices.dynamic_resources.meter import Meter


class Plan:
    """All that searches for equal claims share."""

    def __init__(self, claims: tuple[ClaimPlan, ...]) -> None:
        self.claims = claims
        alternatives = [
            (index, each)
            for index, claim in enumerate(claims)
            for request in claim.requests
            for each in request.alternatives
        ]
        self.alternatives: list[Alternative] = [each for _, each in alternatives]
        self.meter = Meter()  # of the question that is being answered
        self.choices = [Choices(index, each, self.meter) for index, each in alternatives]
        self._attributes = sorted({each.attribute for claim in claims for each in claim.constraints})
        self._sights: dict[DeviceKind, Hashable] = {}

    def sight(self, kind: DeviceKind) -> Hashable:
        """Return all that searches see of a kind of device: if it is equal, one device can replace the other."""
        known = self._sights.get(kind)
        if known is None:
            if len(self._sights) >= MOST_KEPT:
                self._sights.clear()
            known = self._sights[kind] = self._seen(kind)
        return known

    def _seen(self, kind: DeviceKind) -> Hashable:
        verdicts = [choices.verdict(kind) for choices in self.choices]
        answers = tuple((v.selected, v.consumed, v.tainted, v.failure_key) for v in verdicts)
        values = tuple(value_of(kind, attribute) for attribute in self._attributes)
        return answers, values, kind.shared, kind.capacities if kind.shared else (), kind.draws
