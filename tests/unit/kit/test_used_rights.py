"""When a right counts as needed: a request was granted that no other right of the account allows."""

import json
from pathlib import Path
from typing import Any

import pytest

from kit.documented_rights import Right
from kit.side_by_side import shared_out
from kit.used_rights import EVERYTHING, Grant, Request, needed, requests

USER = "system:serviceaccount:here:one-pilotage-scheduler"


def grant(where: str, resource: str, verb: str, name: str = "", group: str = "", role: str = "role") -> Grant:
    return Grant(USER, role, (where, group, resource, verb, name), "one")


def request(resource: str, verb: str, name: str = "", namespace: str = "here", code: int = 200, **more: str) -> Request:
    return Request(more.get("user", USER), namespace, more.get("group", ""), resource, verb, name, code)


PODS = grant("cluster", "pods", "list")


@pytest.mark.parametrize(
    ("granted", "asked", "is_needed"),
    [
        pytest.param(PODS, request("pods", "list"), True, id="what was asked for and granted"),
        pytest.param(PODS, request("pods", "list", namespace=""), True, id="in all namespaces"),
        pytest.param(PODS, request("pods", "watch"), False, id="another verb"),
        pytest.param(PODS, request("pods/status", "list"), False, id="another resource"),
        pytest.param(PODS, request("pods", "list", group="metrics.k8s.io"), False, id="another group"),
        pytest.param(PODS, request("pods", "list", code=403), False, id="what was refused"),
        pytest.param(PODS, request("pods", "list", code=404), False, id="what there is not"),
        pytest.param(PODS, request("pods", "list", user=f"{USER}-2"), False, id="another account"),
        pytest.param(grant("here", "pods", "list"), request("pods", "list"), True, id="its namespace"),
        pytest.param(grant("there", "pods", "list"), request("pods", "list"), False, id="another namespace"),
        pytest.param(grant("here", "pods", "list"), request("pods", "list", namespace=""), False, id="all of them"),
        pytest.param(grant("here", "pods", "get", "a"), request("pods", "get", "a"), True, id="its name"),
        pytest.param(grant("here", "pods", "get", "a"), request("pods", "get", "b"), False, id="another name"),
        pytest.param(
            grant("here", EVERYTHING, EVERYTHING, group=EVERYTHING), request("pods", "get"), True, id="a role"
        ),
    ],
)
def test_a_right_alone(granted: Grant, asked: Request, is_needed: bool) -> None:
    assert needed([granted], [asked]) == ({str(granted)} if is_needed else set())


def test_two_rights_to_the_same_are_not_needed() -> None:
    twice = [PODS, grant("here", "pods", "list", role="other")]
    assert needed(twice, [request("pods", "list")]) == set()
    assert needed(twice, [request("pods", "list", namespace="there")]) == {str(PODS)}


@pytest.mark.parametrize("release", ["one", "other"])
def test_words_are_the_same_for_all_releases(release: str) -> None:
    start, where = (
        f"{release}-pilotage",
        ("here", "coordination.k8s.io", "leases", "get", f"{release}-pilotage-scheduler"),
    )
    own = Grant(f"system:serviceaccount:here:{start}-scheduler", f"{start}-lease", where, release)
    assert str(own) == "F-scheduler by F-lease (here): get coordination.k8s.io/leases F-scheduler"


def test_requests_are_read_from_the_log(tmp_path: Path) -> None:
    def line(user: str, **more: Any) -> str:
        return json.dumps({"user": {"username": user}, "verb": "patch", "responseStatus": {"code": 200}, **more})

    status = {"resource": "pods", "subresource": "status", "namespace": "here", "name": "a"}
    others = [line(USER), line("system:serviceaccount:there:x", objectRef=status), line("admin", objectRef=status)]
    (tmp_path / "log").write_text("\n".join([line(USER, objectRef=status), *others]) + "\n")
    assert list(requests(tmp_path / "log", "here")) == [request("pods/status", "patch", "a")]


def test_no_two_in_a_share_want_the_same() -> None:
    a, b = (("cluster", "", resource, "list", "") for resource in ("pods", "nodes"))
    wanted: dict[str, set[Right]] = {"first": {a}, "second": {a, b}, "third": {b}}
    assert shared_out(wanted, 3) == [["first", "third"], ["second"], []]
    with pytest.raises(AssertionError, match="second shares rights"):
        shared_out(wanted, 1)
