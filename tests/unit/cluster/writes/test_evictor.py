from typing import Any

import pytest

from pilotage.cluster.transport.api_errors import OutcomeUnknown, Unreachable
from pilotage.cluster.write.evictor import Evicted, Evictor, NotEvicted
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

PATH = "/api/v1/namespaces/ns/pods/old"
VICTIM = make_pod("old", namespace="ns", uid="u1", metadata={"generation": 2})
CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "batch: preempting to accommodate a higher priority pod",
}
# What a kube-apiserver of 1.37 says when the uid is another one: to a patch, and to a deletion.
OTHER_UID = 'Pod "old" is invalid: metadata.uid: Invalid value: "u1": field is immutable'
OTHER_VICTIM = (
    'Operation cannot be fulfilled on Pod "old": the UID in the precondition (u1) does not match the UID in record '
    "(u2). The object might have been deleted and then recreated"
)


async def test_a_victim_is_told_and_then_deleted(fake_api: Any) -> None:
    api = fake_api()
    assert await Evictor(api, clock=lambda: 0.0).evict(VICTIM, "batch") == Evicted()
    told, deleted = api.calls
    assert (told.verb, told.path) == ("PATCH", f"{PATH}/status")
    assert told.body == {
        "metadata": {"uid": "u1"},
        "status": {
            "conditions": [{**CONDITION, "observedGeneration": 2, "lastTransitionTime": "1970-01-01T00:00:00Z"}]
        },
    }
    assert (deleted.verb, deleted.path) == ("DELETE", PATH)
    assert deleted.body == {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u1"}}


async def test_a_victim_that_knows_is_only_deleted(fake_api: Any) -> None:
    api = fake_api()
    victim = make_pod("old", namespace="ns", status={"conditions": [CONDITION]})
    assert await Evictor(api).evict(victim, "batch") == Evicted()
    assert api.verbs == ["DELETE"]


@pytest.mark.parametrize(
    ("before", "status", "message"),
    [
        pytest.param(0, 404, 'pods "old" not found', id="gone before it was told"),
        pytest.param(1, 404, 'pods "old" not found', id="gone before it was deleted"),
        pytest.param(0, 422, OTHER_UID, id="replaced before it was told"),
        pytest.param(1, 409, OTHER_VICTIM, id="replaced before it was deleted"),
    ],
)
async def test_a_victim_that_is_gone(fake_api: Any, refusal: Any, before: int, status: int, message: str) -> None:
    api = fake_api(*[{}] * before, refusal(status, message))
    assert await Evictor(api).evict(VICTIM, "batch") == Evicted(was_gone=True)
    assert len(api.calls) == before + 1


async def test_trouble_that_passes(fake_api: Any, refusal: Any) -> None:
    trouble = [refusal(409, "try again"), Unreachable("down"), OutcomeUnknown("reset")]
    api = fake_api(*trouble, {}, *trouble, {})
    assert await Evictor(api).evict(VICTIM, "batch") == Evicted()
    assert api.verbs == ["PATCH"] * 4 + ["DELETE"] * 4


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param([403], ["PATCH"], id="a victim that may not be told is not deleted"),
        pytest.param([503] * 9, ["PATCH"] * 4, id="nor one that cannot be told"),
    ],
)
async def test_trouble_that_stays(fake_api: Any, refusal: Any, failures: list[int], expected: list[str]) -> None:
    api = fake_api(*(refusal(status, "sorry") for status in failures))
    assert await Evictor(api).evict(VICTIM, "batch") == NotEvicted("sorry")
    assert api.verbs == expected
