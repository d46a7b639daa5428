"""The corpus: everything in it is what an API server could store and what the scheduler's own readers understand."""

from random import Random

import msgspec
import pytest

from hostile.growing import Growth, changed, seedling
from hostile.pod_shapes import ALL_FEATURES, fitting, hostile_pod
from hostile.scene import prepare
from hostile.shapes import LARGEST, Shape, all_shapes
from hostile.stored_object import StoredObject, wire
from pilotage.cluster.watch.config_map import config_map_resource
from pilotage.cluster.watch.resources import RESOURCES
from pilotage.cluster.watch.watch_events import EventReader
from pilotage.testing import pod_manifest

READERS = {resource.path: EventReader(resource) for resource in RESOURCES}
SMALL = 40


@pytest.mark.parametrize("shape", all_shapes().values(), ids=all_shapes().keys())
def test_every_object_is_one_that_the_scheduler_reads(shape: Shape) -> None:
    random = Random(0)
    made = prepare([*shape.setting(SMALL, random), *shape.make(SMALL, random)])
    assert made
    for path, each in made:
        reader = READERS.get(path) or EventReader(config_map_resource("pilotage-system", "configuration"))
        read = reader.event(each.line("ADDED").rstrip())
        assert read.metadata.name == each.name  # type: ignore[union-attr]  # an object, and not what cannot be read


def test_a_pod_grows_to_what_is_stored_and_no_further() -> None:
    pod = pod_manifest()
    added = fitting(ALL_FEATURES["labels"][0], pod, 200_000, Random(0))
    assert len(pod["metadata"]["labels"]) == added
    assert LARGEST / 2 < len(wire(pod)) <= LARGEST


def test_text_is_counted_as_it_is_stored_and_not_as_it_is_sent() -> None:
    pod = pod_manifest()
    assert fitting(ALL_FEATURES["text of a megabyte and a half"][0], pod, 1_450_000, Random(0)) == 1_450_000
    assert len(wire(pod)) > 6 * 1_450_000


def test_features_add_up_in_one_pod() -> None:
    names = ("tolerations", "labels", "node affinity, terms")
    pod = hostile_pod("p", tuple((ALL_FEATURES[name][0], 7) for name in names), Random(0))
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert (len(pod["spec"]["tolerations"]), len(pod["metadata"]["labels"]), len(terms)) == (7, 8, 7)


def test_growth_is_the_same_for_the_same_seed_and_every_kind_of_change_occurs() -> None:
    def grown(seed: int) -> list[Growth]:
        random = Random(seed)
        found = [seedling(random)]
        for _ in range(200):
            found.append(changed(found[-1], random))
        return found

    assert grown(1) == grown(1) != grown(2)
    last = grown(1)
    assert max(len(each.features) for each in last) == 5
    assert max(each.copies for each in last) == 64
    assert any(each.beside for each in last)
    assert {each.is_placed for each in last} == {True, False}


def test_what_is_stored_is_what_was_given() -> None:
    given = pod_manifest("p", labels={"a": "<&>"}, annotations={"b": "c"}, node="n1", cpu="1")
    given["status"] = {"phase": "Pending"}
    stored = StoredObject(given)
    assert b"\\u003c\\u0026\\u003e" in stored.json()
    read = msgspec.json.decode(stored.json())
    read["metadata"].pop("resourceVersion")
    assert read == given
    stored.node = ""
    assert "nodeName" not in msgspec.json.decode(stored.json())["spec"]
