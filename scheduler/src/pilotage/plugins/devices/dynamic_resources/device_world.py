"""All devices and claims of one cluster: devices belong to no profile, so all profiles share this."""

import asyncio
from weakref import WeakKeyDictionary

from pilotage.framework.api.objects import Kind, Objects
from pilotage.kinds.devices import DeviceTaintRule, ResourceClaim, ResourceSlice
from pilotage.plugins.devices.dynamic_resources.claim_lanes import ClaimLanes
from pilotage.plugins.devices.dynamic_resources.claims_ledger import ClaimsLedger
from pilotage.plugins.devices.dynamic_resources.followed_objects import FollowedObjects
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id
from pilotage.plugins.devices.dynamic_resources.usage import Usage

FOLLOWED = (ResourceSlice, DeviceTaintRule, ResourceClaim)


class DeviceWorld:
    """The devices, the claims, and who holds what; it outlives the plugins, whose configuration may change."""

    def __init__(self) -> None:
        self.inventory = Inventory()
        self.usage = Usage()
        self.claims = ClaimsLedger(self.usage)
        self.lanes = ClaimLanes()
        self._slices = FollowedObjects(ResourceSlice, self.inventory.slice_changed)
        self._rules = FollowedObjects(DeviceTaintRule, self.inventory.rule_changed)
        self._claims = FollowedObjects(ResourceClaim, self._claim_changed)
        self.listeners: dict[str, set[asyncio.Event]] = {}  # set when the claim with this id changes

    def catch_up(self, objects: Objects) -> None:
        """Follow all changes; cheap if there are none."""
        self._slices.catch_up(objects)
        self._rules.catch_up(objects)
        self._claims.catch_up(objects)

    def noticed(self, objects: Objects, changed: Kind) -> None:
        """Follow one change."""
        key = (changed.metadata.namespace, changed.metadata.name)
        if isinstance(changed, ResourceClaim):
            self._claims.noticed(objects, key)
        elif isinstance(changed, ResourceSlice):
            self._slices.noticed(objects, key)
        elif isinstance(changed, DeviceTaintRule):
            self._rules.noticed(objects, key)

    def stop_listening(self, uid: str, news: asyncio.Event) -> None:
        """Forget a listener."""
        self.listeners[uid].discard(news)
        if not self.listeners[uid]:
            del self.listeners[uid]

    def _claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        self.claims.see(old, new)
        for claim in (old, new):
            for news in () if claim is None else self.listeners.get(claim_id(claim), ()):
                news.set()


_worlds: WeakKeyDictionary[Objects, DeviceWorld] = WeakKeyDictionary()


def world_of(objects: Objects) -> DeviceWorld:
    """Return the devices and claims among these objects, the same for all plugins that see the same objects."""
    found = _worlds.get(objects)
    if found is None:
        found = _worlds[objects] = DeviceWorld()
    return found
