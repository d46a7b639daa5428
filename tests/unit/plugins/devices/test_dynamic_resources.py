import pytest

from pilotage.config.faults import Stage
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, NoRoom, PluginFailed, Rejection, Verdicts
from pilotage.kinds.devices import (
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    DeviceSubrequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from pilotage.model.metadata import Metadata, OwnerReference
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources import DynamicResources
from pilotage.testing import FakeCluster, Manifest, filter_all, handle_of, make_node, make_pod, score_all, verdicts_of

NOT_MADE = 'pod "shop/web": ResourceClaim not created yet'
NEITHER = 'pod "shop/web", spec.resourceClaim "gpu": none of the supported fields are set'
CLAIM_MADE = Event(Resource.TARGET_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)

BY_NAME = {"name": "gpu", "resourceClaimName": "my-gpu"}
BY_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "gpus"}
MADE = {"name": "gpu", "resourceClaimName": "web-gpu"}
NOT_NEEDED = {"name": "gpu"}


def claiming(*claims: Manifest, made: tuple[Manifest, ...] = ()) -> Pod:
    return make_pod(
        "web",
        uid="web-uid",
        namespace="shop",
        spec={"resourceClaims": list(claims)} if claims else None,
        status={"resourceClaimStatuses": list(made)},
    )


def claim(
    name: str,
    *classes: str,
    owner: str | None = None,
    going: bool = False,
    namespace: str = "shop",
    allocation: Manifest | None = None,
) -> ResourceClaim:
    owners = (OwnerReference(kind="Pod", name="web", uid=owner, controller=True),) if owner else ()
    metadata = Metadata(name=name, namespace=namespace, owner_references=owners)
    metadata.deletion_timestamp = "2026-01-01T00:00:00Z" if going else None
    choices = tuple(DeviceSubrequest(name=chr(ord("a") + i), device_class_name=each) for i, each in enumerate(classes))
    request = DeviceRequest(name="one", first_available=choices)
    return ResourceClaim(metadata, ResourceClaimSpec(DeviceClaim((request,))), ResourceClaimStatus(allocation))


def cluster() -> FakeCluster:
    claims = [
        claim("my-gpu", "gpu"),
        claim("web-gpu", owner="web-uid"),
        claim("going", going=True),
        claim("odd", "gpu", "none"),
    ]
    objects: list[Kind] = [*claims, DeviceClass(Metadata(name="gpu"))]
    return FakeCluster(nodes=[make_node("n1"), make_node("n2")], objects=objects)


def not_yet(claims: str) -> str:
    return (
        f"cannot allocate ResourceClaim {claims}: this scheduler does not allocate devices yet; "
        "give the pod to kube-scheduler with its schedulerName"
    )


@pytest.mark.parametrize(
    ("pod", "gate", "reason"),
    [
        pytest.param(claiming(), None, None, id="a pod without claims"),
        pytest.param(claiming(BY_NAME), None, not_yet('"shop/my-gpu"'), id="a claim by name"),
        pytest.param(
            claiming(BY_NAME | {"resourceClaimName": "lost"}),
            'could not find ResourceClaim "shop/lost"',
            'could not find ResourceClaim "shop/lost"',
            id="a claim that is not there",
        ),
        pytest.param(
            claiming(BY_NAME | {"resourceClaimName": "going"}),
            'resourceclaim "going" is being deleted',
            'resourceclaim "going" is being deleted',
            id="a claim that is being deleted",
        ),
        pytest.param(
            claiming(BY_NAME | {"resourceClaimName": "odd"}),
            None,
            "request one/b: device class none does not exist",
            id="a claim for a class that does not exist",
        ),
        pytest.param(
            claiming(BY_TEMPLATE, made=(MADE | {"resourceClaimName": "my-gpu"},)),
            "ResourceClaim shop/my-gpu was not created for Pod shop/web (Pod is not owner)",
            "ResourceClaim shop/my-gpu was not created for Pod shop/web (Pod is not owner)",
            id="a claim that was not made for the pod",
        ),
        pytest.param(claiming(BY_TEMPLATE), NOT_MADE, NOT_MADE, id="a claim that is not made yet"),
        pytest.param(claiming(BY_TEMPLATE, made=({"name": "other"},)), NOT_MADE, NOT_MADE, id="another one is made"),
        pytest.param(claiming(BY_TEMPLATE, made=(MADE,)), None, not_yet('"shop/web-gpu"'), id="a claim that is made"),
        pytest.param(claiming(BY_TEMPLATE, made=(NOT_NEEDED,)), None, None, id="it turned out that none is needed"),
        pytest.param(claiming({"name": "gpu"}), NEITHER, NEITHER, id="neither a name nor a template"),
        pytest.param(
            claiming(BY_NAME, BY_TEMPLATE | {"name": "nic"}, made=(MADE | {"name": "nic"},)),
            None,
            not_yet('"shop/my-gpu", "shop/web-gpu"'),
            id="two claims",
        ),
    ],
)
def test_claims_of_a_pod(pod: Pod, gate: str | None, reason: str | None) -> None:
    there = cluster()
    plugin, cycle = DynamicResources(), there.cycle(pod)
    plugin.start(handle_of(there))
    assert plugin.pre_enqueue(pod) == (gate and Rejection(gate, preemption_helps=False))
    expected = SKIP if reason is None else Rejection(reason, preemption_helps=False)
    assert plugin.pre_filter(cycle, pod) == expected
    assert plugin.post_filter(cycle, pod, Verdicts.all_fit(2)) == NoRoom("", keeps_nomination=True)


@pytest.mark.parametrize("made", [(), (MADE,)], ids=["not made", "made"])
async def test_a_pod_with_claims_never_gets_through(made: tuple[Manifest, ...]) -> None:
    plugin, pod, some = DynamicResources(), claiming(BY_TEMPLATE, made=made), cluster()
    cycle = some.cycle(pod)
    rejection = filter_all(plugin, some, pod)
    assert isinstance(rejection, Rejection)
    assert verdicts_of(plugin, cycle, pod) == {"n1": rejection, "n2": rejection}
    assert plugin.reserve(cycle, pod, "n1") == rejection
    assert plugin.pre_bind_pre_flight(cycle, pod, "n1") is None
    assert await plugin.pre_bind(cycle, pod, "n1") == rejection


async def test_a_pod_without_claims_is_left_alone() -> None:
    plugin, pod, some = DynamicResources(), claiming(), cluster()
    cycle = some.cycle(pod)
    assert verdicts_of(plugin, cycle, pod) == {"n1": None, "n2": None}
    assert score_all(plugin, some, pod) == {"n1": 0, "n2": 0}
    assert plugin.reserve(cycle, pod, "n1") is None
    assert plugin.pre_bind_pre_flight(cycle, pod, "n1") is SKIP
    assert await plugin.pre_bind(cycle, pod, "n1") is None


def test_making_room_fails_if_the_pod_was_never_looked_at() -> None:
    pod = claiming()
    with pytest.raises(PluginFailed, match=r"^not found$"):
        DynamicResources().post_filter(cluster().cycle(pod), pod, Verdicts.all_fit(2))


@pytest.mark.parametrize(("made", "helps"), [((), False), ((MADE,), True), ((NOT_NEEDED,), True)])
def test_a_claim_that_is_made_helps(made: tuple[Manifest, ...], helps: bool) -> None:
    old, new = claiming(BY_TEMPLATE), claiming(BY_TEMPLATE, made=made)
    assert DynamicResources().claims_are_made(old, CLAIM_MADE, old, new) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, claim("my-gpu"), True, id="its claim is new"),
        pytest.param(None, claim("other"), False, id="another claim is new"),
        pytest.param(None, claim("my-gpu", namespace="bank"), False, id="a claim is new elsewhere"),
        pytest.param(claim("my-gpu"), claim("my-gpu", allocation={"devices": {}}), True, id="it got its devices"),
        pytest.param(claim("my-gpu", allocation={"devices": {}}), claim("my-gpu"), True, id="it lost its devices"),
        pytest.param(claim("my-gpu"), claim("my-gpu", owner="somebody"), False, id="its claim has another owner"),
        pytest.param(claim("my-gpu"), claim("my-gpu", going=True), False, id="its claim is about to go"),
    ],
)
def test_which_claims_help(old: ResourceClaim | None, new: ResourceClaim, helps: bool) -> None:
    event = Event(Resource.RESOURCE_CLAIM, Action.ADD if old is None else Action.UPDATE)
    assert DynamicResources().got_its_claim(claiming(BY_NAME), event, old, new) is helps


def test_a_claim_that_is_gone_is_waited_for_by_nobody() -> None:
    gone = Event(Resource.RESOURCE_CLAIM, Action.DELETE)
    assert not any(retry.matches(gone) for retry in DynamicResources.retry_on)


@pytest.mark.parametrize(
    ("given", "dumped"),
    [
        pytest.param({}, {"filterTimeout": "10s", "bindingTimeout": "10m0s"}, id="defaults"),
        pytest.param(
            {"filterTimeout": None, "bindingTimeout": "90s"},
            {"filterTimeout": "10s", "bindingTimeout": "1m30s"},
            id="null is the default",
        ),
        pytest.param({"filterTimeout": "0s"}, {"filterTimeout": "0s", "bindingTimeout": "10m0s"}, id="no timeout"),
    ],
)
def test_arguments_as_kube_scheduler_writes_them(given: Manifest, dumped: Manifest) -> None:
    arguments = DynamicResources.read_arguments(given, ("args",))
    assert (arguments.value, arguments.faults) == (dumped, ())


def test_timeouts_that_make_no_sense_are_refused() -> None:
    faults = DynamicResources.read_arguments({"filterTimeout": "-1s", "bindingTimeout": "1ms"}, ("args",)).faults
    assert [fault.text for fault in faults] == [
        'args.filterTimeout: Invalid value: "-1s": must be zero or positive',
        'args.bindingTimeout: Invalid value: "1ms": must be at least 1 second',
    ]
    (fault,) = DynamicResources.read_arguments({"filterTimeout": 5}, ("args",)).faults
    assert fault.stage is Stage.DECODING
