"""Claims that are answered together get what each of them would get alone."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pilotage.kinds.storage import PersistentVolume
from pilotage.kinds.volume_matching import candidates
from pilotage.plugins.volumes.volume_binding.assumed import Assumed
from pilotage.plugins.volumes.volume_binding.storage_index import StorageIndex
from pilotage.plugins.volumes.volume_binding.suitable_volumes import VolumeSearch
from pilotage.plugins.volumes.volume_binding.volume_choice import NONE, TakenVolumes
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.storage import make_claim, make_volume

CLASSES = st.sampled_from(["local", "shared"])
SIZES = st.sampled_from(["1Gi", "1024Mi", "2Gi", "3Gi"])
MODES = st.sampled_from([["ReadWriteOnce"], ["ReadWriteMany"], ["ReadWriteOnce", "ReadWriteMany"]])


@st.composite
def volumes(draw: st.DrawFn) -> list[PersistentVolume]:
    found = []
    for number in range(draw(st.integers(0, 8))):
        kept = draw(st.sampled_from([None, None, "c0", "c1", "other"]))
        extra: dict[str, Any] = {"claimRef": {"namespace": "default", "name": kept}} if kept else {}
        extra["volumeMode"] = draw(st.sampled_from(["Filesystem", "Block"]))
        found.append(
            make_volume(f"v{number}", size=draw(SIZES), storage_class=draw(CLASSES), modes=draw(MODES), **extra)
        )
    return found


@st.composite
def claims(draw: st.DrawFn) -> list[Any]:
    return [
        make_claim(f"c{number}", size=draw(SIZES), storage_class=draw(CLASSES), modes=draw(MODES))
        for number in range(draw(st.integers(1, 6)))
    ]


@given(volumes(), claims())
def test_answers_for_many_claims_are_those_for_each(there: list[PersistentVolume], asking: list[Any]) -> None:
    cluster = FakeCluster(objects=there)
    search = VolumeSearch(cluster.cache.objects, StorageIndex(), Assumed())
    for claim in asking:
        of_class = [volume for volume in there if volume.class_name == claim.class_name]
        assert search.volumes_for(claim).volumes == candidates(claim, of_class)


def test_claims_that_ask_for_the_same_share_an_answer() -> None:
    there = [make_volume(f"v{number}", storage_class="local") for number in range(3)]
    search = VolumeSearch(FakeCluster(objects=there).cache.objects, StorageIndex(), Assumed())
    one, other = (search.volumes_for(make_claim(name, storage_class="local")) for name in ("one", "other"))
    assert one is other


@given(st.lists(st.lists(st.lists(st.integers(-1, 20), min_size=3, max_size=3), min_size=2, max_size=2), max_size=5))
def test_each_volume_is_taken_once_on_a_node(rounds: list[list[list[int]]]) -> None:
    taken, by_hand = TakenVolumes(2, 21), [set[int](), set[int]()]
    for wanted in rounds:
        found = taken.take_first_free(np.array(wanted, np.int32))
        for node, numbers in enumerate(wanted):
            first = next((number for number in numbers if number not in (NONE, *by_hand[node])), NONE)
            assert found[node] == first
            by_hand[node].add(first)
