"""Which disks two pods cannot have on one node, and that thousands of them are not compared with each other."""

import pytest

from kit.counted_work import CountedText
from pilotage.model.inline_disks import clash
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod, PodObject, PodShape
from pilotage.model.pod_spec import PodSpec
from pilotage.model.volumes import AWSDisk, GCEDisk, ISCSIDisk, RBDImage, Volume


def having(*volumes: Volume) -> Pod:
    return Pod(PodObject(Metadata(name="p"), PodSpec(volumes=volumes)))


def gce(name: str = "d", *, read_only: bool = False) -> Volume:
    return Volume("v", gce_persistent_disk=GCEDisk(name, read_only))


def rbd(*monitors: str, image: str = "i", read_only: bool = False) -> Volume:
    return Volume("v", rbd=RBDImage(monitors, "pool", image, read_only))


AWS = Volume("v", aws_elastic_block_store=AWSDisk("d", True))
ISCSI, READ_ISCSI = (Volume("v", iscsi=ISCSIDisk("d", read_only)) for read_only in (False, True))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param([gce()], [gce()], True, id="the same disk"),
        pytest.param([gce()], [gce("other")], False, id="another disk"),
        pytest.param([gce()], [gce(read_only=True)], True, id="one of them writes"),
        pytest.param([gce(read_only=True)], [gce(read_only=True)], False, id="both only read"),
        pytest.param([gce(read_only=True), gce()], [gce(read_only=True)], True, id="one reads it and writes it too"),
        pytest.param([AWS], [AWS], True, id="one of Amazon is never shared"),
        pytest.param([ISCSI], [READ_ISCSI], True, id="iSCSI: one of them writes"),
        pytest.param([READ_ISCSI], [READ_ISCSI], False, id="iSCSI: both only read"),
        pytest.param([rbd("a", "b")], [rbd("b", "c")], True, id="an image by a monitor that both know"),
        pytest.param([rbd("a")], [rbd("b")], False, id="an image by different monitors"),
        pytest.param([rbd("a")], [rbd("a", image="j")], False, id="another image"),
        pytest.param([rbd("a"), rbd("b", read_only=True)], [rbd("b", read_only=True)], False,
                     id="it is written by another monitor alone"),
        pytest.param([AWS], [gce(), ISCSI], False, id="disks of different kinds"),
        pytest.param([], [gce()], False, id="no disk"),
    ],
)  # fmt: skip
def test_clash(one: list[Volume], other: list[Volume], expected: bool) -> None:
    assert clash(having(*one), having(*other)) is expected
    assert clash(having(*other), having(*one)) is expected


def test_disks_are_looked_up() -> None:
    one, other = having(), having()
    for pod in (one, other):
        disks = tuple(gce(CountedText(f"{id(pod)}-{i}")) for i in range(300))
        pod.shape = PodShape(b"", PodSpec(volumes=disks))
    CountedText.compared = 0
    assert not clash(one, other)
    assert CountedText.compared <= 10 * 300
