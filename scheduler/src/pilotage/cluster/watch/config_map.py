"""The resource of a single ConfigMap, watched by its name."""

from msgspec import Struct

from pilotage.cluster.watch.resources import ApiResource
from pilotage.model.metadata import Metadata


class ConfigMap(Struct, gc=False, rename="camel"):
    """A ConfigMap, without binary data."""

    metadata: Metadata
    data: dict[str, str] = {}


def config_map_resource(namespace: str, name: str) -> ApiResource[ConfigMap]:
    """Return the resource of this ConfigMap; a role may allow only this one name."""
    return ApiResource(
        "", "v1", "configmaps", ConfigMap, lambda given: given, f"metadata.name={name}", namespace=namespace
    )
