"""One ConfigMap, followed by its name."""

from msgspec import Struct

from pilotage.cluster.watch.resources import ApiResource
from pilotage.model.metadata import Metadata


class ConfigMap(Struct, gc=False, rename="camel"):
    """A ConfigMap, without what is binary."""

    metadata: Metadata
    data: dict[str, str] = {}


def config_map_resource(namespace: str, name: str) -> ApiResource[ConfigMap]:
    """Return how this one ConfigMap is listed and watched; a role may allow no more than that."""
    return ApiResource(
        "", "v1", "configmaps", ConfigMap, lambda given: given, f"metadata.name={name}", namespace=namespace
    )
