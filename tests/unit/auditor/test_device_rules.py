"""Devices have one owner, fit what they are parts of, and pods are bound once they have their claims."""

import pytest

from auditor.testing import (
    Raw,
    Step,
    bind,
    claim,
    device,
    device_slice,
    gone,
    listed,
    missed,
    node,
    passes,
    pod,
    seen,
    told,
    use,
)

ALLOCATED = claim("c", use(), pods=["a"])
CLAIMING: Raw = {"resourceClaims": [{"name": "device", "resourceClaimName": "c"}]}
BOUND = [seen(pod("a", **CLAIMING)), bind("a"), seen(pod("a", "n1", **CLAIMING))]
COUNTED = device_slice(device("d0", {"mem": "6"}), device("d1", {"mem": "6"}), counters={"mem": "10"})


@pytest.mark.parametrize(
    ("history", "rules"),
    [
        pytest.param([seen(claim("c")), seen(ALLOCATED), *BOUND], [], id="a pod whose claim names it"),
        pytest.param([*BOUND, seen(claim("c")), seen(ALLOCATED)], [], id="a claim that is seen late"),
        pytest.param([*BOUND, seen(claim("c"))], ["bound-unclaimed"], id="a pod whose claim is not allocated"),
        pytest.param(
            [seen(claim("c", use(), pods=["b"])), *BOUND], ["bound-unclaimed"], id="a pod that its claim does not name"
        ),
        pytest.param(
            [seen(claim("c", use(), pods=["a"], on="n2")), *BOUND],
            ["bound-unclaimed"],
            id="a pod whose claim cannot be used on its node",
        ),
        pytest.param(BOUND, ["bound-unclaimed"], id="a pod whose claim nobody saw"),
        pytest.param([*BOUND, gone("a")], [], id="a pod that is gone before its claim could be judged"),
        pytest.param([seen(pod("a", "n1", **CLAIMING)), passes(30)], [], id="a pod that its owner put on the node"),
        pytest.param(
            [seen(ALLOCATED), *BOUND, seen(claim("c", use())), passes(30)], [], id="a claim that names it no more later"
        ),
        pytest.param(
            [seen(ALLOCATED), seen(claim("d", use()))], ["device-twice"], id="a device that belongs to two claims"
        ),
        pytest.param([seen(claim("c", use(), use()))], ["device-twice"], id="a device that a claim has twice"),
        pytest.param(
            [seen(ALLOCATED), seen(claim("d", use(share="s", mem="1")))],
            ["device-twice"],
            id="a share of a device that belongs to a claim",
        ),
        pytest.param([seen(ALLOCATED), seen(claim("d", use() | {"adminAccess": True}))], [], id="access for an admin"),
        pytest.param(
            [seen(ALLOCATED), seen(claim("c")), seen(claim("d", use()))], [], id="a device that was given back"
        ),
        pytest.param(
            [seen(ALLOCATED), gone("c", "ResourceClaim"), seen(claim("d", use()))], [], id="a claim that is gone"
        ),
        pytest.param(
            [seen(ALLOCATED), missed(claim("d", use())), listed()],
            ["device-twice"],
            id="two, one of them seen in a list",
        ),
        pytest.param(
            [seen(claim("c", use(), finalizers=[]))], ["unprotected-claim"], id="an allocation without the finalizer"
        ),
    ],
)
def test_claims(history: list[Step], rules: list[str]) -> None:
    assert told([seen(node()), seen(node("n2")), *history]).rules == rules


@pytest.mark.parametrize(
    ("history", "messages"),
    [
        pytest.param([seen(claim("c", use(share="s", mem="4Gi")))], [], id="a share that fits"),
        pytest.param(
            [seen(claim("c", use(share="s", mem="4Gi"))), seen(claim("d", use(share="t", mem="4Gi")))],
            [],
            id="two that fit exactly",
        ),
        pytest.param(
            [seen(claim("c", use(share="s", mem="4"))), seen(claim("d", use(share="t", mem="8Gi")))],
            ["claim d: mem of device example.com/p/d0: 8.58993e+09 of 8.58993e+09"],
            id="two that do not",
        ),
        pytest.param(
            [seen(device_slice()), passes(30), seen(claim("c", use(share="s", mem="9Gi")))],
            [],
            id="a device that is gone",
        ),
        pytest.param(
            [seen(claim("c", use(share="s", mem="9Gi"))), seen(device_slice(device(mem="9Gi")))],
            [],
            id="a device that is seen to be larger later",
        ),
        pytest.param([seen(claim("c", use("nobody", share="s", mem="9Gi")))], [], id="a device that nobody saw"),
        pytest.param([seen(COUNTED), seen(claim("c", use()))], [], id="a part that fits"),
        pytest.param(
            [seen(COUNTED), passes(30), seen(claim("c", use())), seen(claim("d", use("d1")))],
            ["claim d: counter example.com/p/set/mem: 12 of 10"],
            id="two parts that do not",
        ),
    ],
)
def test_amounts(history: list[Step], messages: list[str]) -> None:
    world = told([seen(device_slice(device(mem="8Gi"))), *history])
    assert [(one.rule, one.message) for one in world.found] == [("device-overcommit", text) for text in messages]
