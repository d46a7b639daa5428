from pilotage.kinds.devices import ClaimMetadata, ResourceClaim
from pilotage.model.metadata import OwnerReference
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.extended_claims import (
    SpecialClaims,
    creation_body,
    is_unwritten,
    special_claim,
    status_body,
    status_path,
    with_requests,
)
from pilotage.plugins.devices.dynamic_resources.extended_requests import Served, Variant, variant_of
from pilotage.testing import make_pod

GPU = "example.com/gpu"
MARKED = {"resource.kubernetes.io/extended-resource-claim": "true"}


def pod_named(name: str = "web", uid: str = "web-uid") -> Pod:
    return make_pod(name, uid=uid, namespace="shop", requests={GPU: 2})


def variant() -> Variant:
    return variant_of(pod_named(), (Served(GPU, "gpus"),))


def claim(
    name: str = "web-extended-resources-x",
    *,
    owner: str = "web",
    uid: str = "web-uid",
    controller: bool = True,
    marked: bool = True,
) -> ResourceClaim:
    owners = (OwnerReference("v1", "Pod", owner, uid, controller),)
    metadata = ClaimMetadata(
        name=name,
        namespace="shop",
        annotations=MARKED if marked else {},
        owner_references=owners,
    )
    return ResourceClaim(metadata)


def test_the_claim_before_it_is_written() -> None:
    made = special_claim(pod_named())
    assert (made.metadata.name, made.metadata.namespace) == ("<extended-resources>", "shop")
    assert is_unwritten(made)
    assert not is_unwritten(claim())
    assert made.metadata.uid == special_claim(pod_named()).metadata.uid
    assert made.metadata.uid != special_claim(pod_named(uid="other")).metadata.uid
    assert made.spec.devices.requests == ()
    assert with_requests(made, variant()).spec.devices.requests == variant().requests


def test_the_claim_to_create() -> None:
    assert creation_body(pod_named(), with_requests(special_claim(pod_named()), variant())) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": "web-extended-resources-",
            "namespace": "shop",
            "annotations": MARKED,
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "web-uid", "controller": True}
            ],
        },
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "container-0-request-0",
                        "exactly": {"deviceClassName": "gpus", "allocationMode": "ExactCount", "count": 2},
                    }
                ]
            }
        },
    }


def test_what_the_pod_is_told() -> None:
    mapping = {"containerName": "main", "resourceName": GPU, "requestName": "container-0-request-0"}
    status = {"resourceClaimName": "web-extended-resources-x", "requestMappings": [mapping]}
    assert status_body(pod_named(), "web-extended-resources-x", variant().mappings) == {
        "metadata": {"uid": "web-uid"},
        "status": {"extendedResourceClaimStatus": status},
    }
    assert status_path(pod_named()) == "/api/v1/namespaces/shop/pods/web/status"


def seen(*claims: ResourceClaim) -> tuple[SpecialClaims, dict[tuple[str, str], ResourceClaim]]:
    special, there = SpecialClaims(), {(each.metadata.namespace, each.metadata.name): each for each in claims}
    for each in claims:
        special.see(None, each)
    return special, there


def test_what_earlier_attempts_left() -> None:
    left = claim()
    special, there = seen(
        left,
        claim("unmarked", marked=False),
        claim("of-another", uid="other"),
        claim("no-controller", uid="third", controller=False),
    )

    def of(pod: Pod) -> ResourceClaim | None:
        return special.of(pod, lambda *key: there.get(key))

    assert of(pod_named()) is left
    assert of(pod_named("other", uid="other")) is None, "the name of the owner differs"
    assert of(pod_named("web", uid="third")) is None
    assert of(pod_named("web", uid="none")) is None


def test_what_is_left_after_changes() -> None:
    first, second = claim("a"), claim("b")
    special, there = seen(second, first)

    def left() -> ResourceClaim | None:
        return special.of(pod_named(), lambda *key: there.get(key))

    assert left() is first
    special.see(first, None)
    assert left() is second
    special.see(second, second)
    assert left() is second
    special.see(second, claim("b", marked=False))
    assert left() is None
    special.see(claim("b", marked=False), second)
    assert left() is second
    del there["shop", "b"]
    assert left() is None, "deleted by us, and not seen yet"
