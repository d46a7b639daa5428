"""A job whose pod returns to the node where it ran before."""

from msgspec import Struct

from pilotage.model.metadata import Metadata


class StickyJobStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Where the job's pod was last."""

    last_node: str = ""


class StickyJob(Struct, gc=False, rename="camel"):
    """A job of pilotage.dev."""

    metadata: Metadata
    status: StickyJobStatus = StickyJobStatus()
