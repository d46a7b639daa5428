"""What is read of pods that left the watch before they ran."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from pilotage.cluster.transport.api_errors import ApiError, Unreachable
from pilotage.cluster.watch import rejection_inquiry
from pilotage.cluster.watch.rejection_inquiry import RejectionInquiry, rejection_in
from pilotage.model.kubelet_rejection import KubeletRejection
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

REJECTED = {"phase": "Failed", "reason": "NodePorts", "message": "Pod was rejected: ...", "qosClass": "Burstable"}
WAITING = {"name": "c", "state": {"waiting": {"reason": "ContainerCreating"}}, "containerID": ""}
RAN = {"name": "c", "state": {"terminated": {"exitCode": 1}}, "containerID": "containerd://1"}


def body(status: Mapping[str, Any], uid: str = "a") -> bytes:
    return json.dumps({"metadata": {"name": "a", "uid": uid}, "status": status}).encode()


@pytest.mark.parametrize(
    ("status", "uid", "is_rejected"),
    [
        pytest.param(REJECTED, "a", True, id="as a kubelet writes it"),
        pytest.param(
            REJECTED | {"startTime": "2026-01-01T00:00:00Z"}, "a", True, id="some kubelets add when they looked at it"
        ),
        pytest.param(REJECTED | {"containerStatuses": [WAITING]}, "a", True, id="containers that were never made"),
        pytest.param(REJECTED | {"containerStatuses": [RAN]}, "a", False, id="a container has run"),
        pytest.param(REJECTED | {"initContainerStatuses": [RAN]}, "a", False, id="an init container has run"),
        pytest.param(REJECTED | {"phase": "Running"}, "a", False, id="it has not failed"),
        pytest.param(REJECTED | {"reason": "Evicted"}, "a", False, id="it was evicted"),
        pytest.param(REJECTED, "b", False, id="another pod of that name"),
        pytest.param({}, "a", False, id="nothing is said"),
    ],
)
def test_which_pods_were_rejected(status: Mapping[str, Any], uid: str, is_rejected: bool) -> None:
    assert rejection_in(body(status, uid), "a") == (KubeletRejection("NodePorts") if is_rejected else None)


class Server:
    """Answers by pod; an answer that is an exception is raised."""

    def __init__(self, answers: Mapping[str, bytes | Exception]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def get(self, path: str, query: Mapping[str, str] = {}, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        self.asked.append(path)
        await asyncio.sleep(0)
        answer = self.answers[path.rpartition("/")[2]]
        if isinstance(answer, Exception):
            raise answer
        return answer


def pods(names: str) -> list[Pod]:
    return [make_pod(name, uid="a", node="n1") for name in names]


async def ask(server: Server, names: str) -> tuple[RejectionInquiry, list[str]]:
    found: list[str] = []

    def rejected(pod: Pod, _rejection: KubeletRejection) -> None:
        found.append(pod.name)
        if pod.name == "x":
            raise RuntimeError("a fault of our own")

    inquiry = RejectionInquiry(server, rejected)
    for pod in pods(names):
        inquiry.ask_about(pod)
    task = asyncio.create_task(inquiry.run())
    for _ in range(40):
        await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    return inquiry, found


async def test_only_rejected_ones_are_passed_on_and_nothing_stops_it() -> None:
    server = Server(
        {
            "a": body(REJECTED),
            "b": ApiError(404, reason="NotFound", message="no pod b", retry_after=None, body=b""),
            "c": Unreachable("no connection"),
            "d": b"{",
            "e": body({"phase": "Succeeded"}),
            "x": body(REJECTED),
            "z": body(REJECTED),
        }
    )
    _, found = await ask(server, "abcdexz")
    assert sorted(found) == ["a", "x", "z"]
    assert server.asked[0] == "/api/v1/namespaces/default/pods/a"


async def test_only_so_many_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejection_inquiry, "MOST_WAITING", 3)
    inquiry, found = await ask(Server({name: body(REJECTED) for name in "abcde"}), "abcde")
    assert found == ["a", "b", "c"]
    assert inquiry.passed_over == 2
