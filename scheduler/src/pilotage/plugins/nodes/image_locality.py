"""ImageLocality: prefers nodes that have the pod's images."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ids, Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Score
from pilotage.model.pod import Pod, PodShape

MIB = 1024 * 1024
LEAST = 23 * MIB  # smaller images are pulled quickly
MOST = 1000 * MIB  # for each image


class ImageLocality(Score):
    """Prefer nodes that already have the pod's images, especially large ones that many nodes have."""

    caching = Caching(STATIC, per=SHAPE)

    def epoch(self, cycle: Cycle) -> int:
        """Return a number that changes with the images of any node: the spread of an image affects all scores."""
        return cycle.nodes.image_version

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return 0 for a node with hardly any of the images, 100 for one with most of their bytes."""
        uses = _uses(pod)
        if not uses:
            return 0
        found, most = 0, _most(uses)
        for name, times in uses.items():
            image = cycle.nodes.image(name)
            if image is not None and image[1][node.slot]:
                found += times * _worth(image, cycle.nodes)
        return 100 * (min(max(found, LEAST), most) - LEAST) // (most - LEAST)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for all nodes."""
        uses = _uses(pod)
        present = [(times, image) for name, times in uses.items() if (image := nodes.image(name)) is not None]
        if not present:
            return 0
        found, most = np.zeros(len(nodes), np.int64), _most(uses)
        for times, image in present:
            # Bounded, because a node may report any size.
            found += np.int64(min(times * _worth(image, cycle.nodes), most)) * nodes.at(image[1])
        return 100 * (np.clip(found, LEAST, most) - LEAST) // (most - LEAST)


def _worth(image: tuple[int, Ids], everywhere: Nodes) -> int:
    # Images that few nodes have count less, or all pods that use them would go to those few nodes.
    size, holders = image
    return int(float(max(size, 0)) * (int(holders.sum()) / len(everywhere)))


def _most(uses: Mapping[str, int]) -> int:
    return MOST * sum(uses.values())


def _uses(pod: Pod) -> Mapping[str, int]:
    return pod.shape.remember(("ImageLocality", "uses of images"), lambda shape: Counter(_names(shape)))


def _names(shape: PodShape) -> Iterator[str]:
    spec = shape.spec
    for container in (*spec.init_containers, *spec.containers):
        yield _with_tag(container.image)
    for volume in spec.volumes:
        if volume.image is not None:
            yield _with_tag(volume.image.reference)


def _with_tag(name: str) -> str:
    # The colon of a registry's port does not start a tag.
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"
