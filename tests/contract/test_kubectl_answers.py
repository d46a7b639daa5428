"""What the small plugin spells by itself is what the rest of the program says."""

import msgspec
import pytest

from pilotage.app.options import API_PORT
from pilotage.app.read_api import serving
from pilotage.cluster.kubectl import names, scheduler_client
from pilotage.config import handshake
from pilotage.model import gangs
from pilotage.scheduler_profiles import resource
from pilotage.views import answers, reasons
from pilotage.views.objects import waiting

SAID = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes."


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param(names.HASH, handshake.HASH, id="the annotation with the hash"),
        pytest.param(names.TROUBLE, handshake.TROUBLE, id="the annotation with the trouble"),
        pytest.param(names.FINGERPRINT, handshake.CERTIFICATE, id="the annotation with the certificate"),
        pytest.param(names.LEADS, serving.LEADS, id="the label of the leader"),
        pytest.param(names.PROFILES, resource.PATH, id="the path of profiles"),
        pytest.param(names.GROUP_LABELS, (gangs.GROUP_LABEL, gangs.NAME_LABEL), id="the labels of groups"),
        pytest.param(scheduler_client.PREFIX, answers.PREFIX, id="the prefix of the paths"),
        pytest.param(names.API_PORT, API_PORT, id="the port"),
        pytest.param(names.AUDIENCE, serving.AUDIENCE, id="the audience of tokens"),
    ],
)
def test_words_that_are_spelled_twice_are_equal(ours: object, theirs: object) -> None:
    assert ours == theirs


@pytest.mark.parametrize("plugin", waiting.CODES)
def test_reasons_mean_what_they_mean_to_the_scheduler(plugin: str) -> None:
    assert waiting.CODES[plugin] == reasons.CODES[plugin]


@pytest.mark.parametrize("group_by", ["", *waiting.GROUPINGS])
def test_a_queue_out_of_pods_is_an_answer_of_the_read_api(group_by: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": SAID}
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    pod = {"metadata": metadata, "spec": {"priority": 7}, "status": {"conditions": [condition]}}
    found = msgspec.convert(waiting.queue([pod], group_by, at="2026-01-01T00:00:00Z"), answers.Queue)
    assert found.total == 1
    assert len(found.groups or found.items) == 1
