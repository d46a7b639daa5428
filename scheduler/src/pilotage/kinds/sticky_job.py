"""A job whose pod returns to the node where it ran before."""

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject


class StickyJobStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The last node of the job's pod."""

    last_node: str = ""


class StickyJob(KubeObject, group="pilotage.dev", version="v1alpha1", plural="stickyjobs"):
    """A job of pilotage.dev."""

    status: StickyJobStatus = StickyJobStatus()
