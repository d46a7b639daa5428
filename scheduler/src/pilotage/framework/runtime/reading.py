"""The permissions for reading the objects that a plugin looks up."""

from pilotage.framework.api.plugin import Permission, Plugin
from pilotage.kinds.kube_object import KubeObject

READING = ("list", "watch")


def rights_to_read(plugin: Plugin | type[Plugin]) -> list[Permission]:
    """Return the permissions to read the objects that a plugin declares, in its own order."""
    return [permission_on(kind, *READING) for kind in plugin.reads]


def permission_on(kind: type[KubeObject], *verbs: str, part: str = "") -> Permission:
    """Return the permission for these verbs on a kind, or on a subresource such as its status."""
    return Permission(kind.api.group, f"{kind.api.plural}/{part}" if part else kind.api.plural, verbs)
