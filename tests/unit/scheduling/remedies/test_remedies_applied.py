"""The first remedy of each kind of obstacle, applied literally: the pod is placed then."""

import pytest

from kit.remedy_scenes import SCENES, Scene, pod
from kit.remedy_world import RemedyWorld


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.about)
def test_the_first_remedy_places_the_pod(scene: Scene) -> None:
    world = RemedyWorld(*scene.objects, pod("web", **scene.web), config=scene.config)
    found = world.remedies("web")
    texts = [remedy.text for remedy in found]
    assert texts[:1] == [scene.first], texts
    assert set(scene.others) <= set(texts[1:]), texts
    world.apply(found[0], "web")
    assert world.node_of("web") is not None


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.about)
def test_every_other_one_places_it_too(scene: Scene) -> None:
    world = RemedyWorld(*scene.objects, pod("web", **scene.web), config=scene.config)
    for remedy in world.remedies("web")[1:]:
        if remedy.code in ("satisfyPlugin", "otherTopologyPolicy"):
            continue  # nobody can do that here
        other = RemedyWorld(*scene.objects, pod("web", **scene.web), config=scene.config)
        other.apply(remedy, "web")
        if remedy.code == "lowerQuorum":  # the gang starts, with this pod or with others
            assert len(other.placed()) == remedy.values["to"]
        else:
            assert other.node_of("web") is not None, remedy.text
