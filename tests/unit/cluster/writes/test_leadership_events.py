from typing import Any

import pytest

from pilotage.cluster.election.leadership_events import announce_leadership, lease_subject

LEASE = lease_subject("kube-system", "pilotage", uid="u1", resource_version="7", controller="batch")


async def test_who_leads_is_an_event_of_the_lease(fake_api: Any) -> None:
    api = fake_api()
    assert await announce_leadership(api, LEASE, "host_1", "became leader", clock=lambda: 0)
    (call,) = api.calls
    assert (call.verb, call.path) == ("POST", "/api/v1/namespaces/kube-system/events")
    assert call.body["involvedObject"] == {
        "kind": "Lease",
        "namespace": "kube-system",
        "name": "pilotage",
        "uid": "u1",
        "apiVersion": "coordination.k8s.io/v1",
        "resourceVersion": "7",
    }
    assert (call.body["reason"], call.body["message"]) == ("LeaderElection", "host_1 became leader")
    assert (call.body["type"], call.body["source"]) == ("Normal", {"component": "batch"})


async def test_trouble_is_logged_and_no_more(fake_api: Any, refusal: Any, caplog: pytest.LogCaptureFixture) -> None:
    api = fake_api(refusal(403, "may not"))
    assert not await announce_leadership(api, LEASE, "host_1", "stopped leading")
    assert "the event 'host_1 stopped leading' was not written: may not" in caplog.text
