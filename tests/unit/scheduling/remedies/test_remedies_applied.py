"""The first remedy of each kind of obstacle, applied literally: the pod is placed then."""

import pytest

from kit.remedy_scene import Scene, pod
from kit.remedy_scenes import SCENES
from kit.remedy_world import BY_HAND, RemedyWorld
from pilotage.framework.api.remedies import Remedy


def can_be_applied(remedy: Remedy) -> bool:
    """Return whether what a remedy says can be done here."""
    if remedy.steps:
        return all(map(can_be_applied, remedy.steps))
    return remedy.patch is not None or remedy.code in BY_HAND


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.about)
def test_the_first_remedy_places_the_pod(scene: Scene) -> None:
    world = RemedyWorld(*scene.objects, pod("web", **scene.web), config=scene.config)
    found = world.remedies("web")
    texts = [remedy.text for remedy in found]
    assert texts[:1] == [scene.first], texts
    assert set(scene.others) <= set(texts[1:]), texts
    assert found[0].verified == (not found[0].untried)
    if can_be_applied(found[0]):
        world.apply(found[0], "web")
        assert world.node_of("web") is not None
    else:
        assert found[0].untried


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.about)
def test_every_other_one_places_it_too(scene: Scene) -> None:
    world = RemedyWorld(*scene.objects, pod("web", **scene.web), config=scene.config)
    for remedy in world.remedies("web")[1:]:
        if not can_be_applied(remedy):
            assert remedy.untried or remedy.code in ("satisfyPlugin", "otherTopologyPolicy")
            continue
        other = RemedyWorld(*scene.objects, pod("web", **scene.web), config=scene.config)
        other.apply(remedy, "web")
        if remedy.code == "lowerQuorum":  # the gang starts, with this pod or with others
            assert len(other.placed()) == remedy.values["to"]
        else:
            assert other.node_of("web") is not None, remedy.text
