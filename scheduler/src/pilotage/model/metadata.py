"""Object metadata: name, labels, owners and creation time."""

from msgspec import Struct

# kubectl keeps a copy of the whole object here, often the larger half; scheduling does not use it.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class OwnerReference(Struct, frozen=True, gc=False, rename="camel"):
    """The object that another one belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Struct, gc=False, rename="camel"):
    """The metadata that scheduling reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    resource_version: str = ""
    generation: int = 0
    deletion_grace_period_seconds: int | None = None

    def __post_init__(self) -> None:
        """Drop the annotation that is only a copy of the object."""
        if LAST_APPLIED in self.annotations:
            self.annotations = {key: value for key, value in self.annotations.items() if key != LAST_APPLIED}

    @property
    def controller(self) -> OwnerReference | None:
        """Return the owner that manages the object, if it has one."""
        return next((owner for owner in self.owner_references if owner.controller), None)
