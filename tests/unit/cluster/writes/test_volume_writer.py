import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable, Withheld
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim
from pilotage.kinds.volume_matching import made_on, taken
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.volume_binding import VolumeBinding, volume_writer
from pilotage.plugins.volumes.volume_binding.volume_progress import ClusterView, VolumeProgress, Written
from pilotage.plugins.volumes.volume_binding.volume_writer import NOT_ALLOWED, VolumeWriter
from pilotage.scheduling.object_changes import ObjectChanges
from pilotage.scheduling.plugin_api import PluginApi
from pilotage.testing import FakeCluster, filter_all, make_node, make_pod
from pilotage.testing.storage import claim_volumes, make_storage_class

pytestmark = pytest.mark.looptime

VOLUMES, CLAIMS = "/api/v1/persistentvolumes", "/api/v1/namespaces/ns/persistentvolumeclaims"
KINDS: dict[str, type[Any]] = {VOLUMES: PersistentVolume, CLAIMS: PersistentVolumeClaim}
BOUND_BY, COMPLETED = "pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/bind-completed"
SELECTED = "volume.kubernetes.io/selected-node"
CONFLICT = (
    'Operation cannot be fulfilled on persistentvolumes "v": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
OUT_OF_TIME = "binding volumes: context deadline exceeded"
NOTHING_TO_BIND = Rejection("node(s) didn't find available persistent volumes to bind", preemption_helps=False)


async def unbound(pod: Pod, node: str) -> None:
    raise AssertionError("nothing is bound")


class Server:
    """An API server that merges patches into whole objects, and a watch that tells of them when it is asked to."""

    def __init__(self, refusal: Callable[..., ApiError]) -> None:
        self.refusal = refusal
        self.objects: dict[str, dict[str, Any]] = {}
        self.cluster = FakeCluster(
            [make_node("n1"), make_node("n2")],
            objects=[make_storage_class("found"), make_storage_class("made", provisioner="csi.example.com")],
        )
        self.pods: dict[str, Pod] = {}
        self.api = PluginApi(self, lambda *_: self.leads, unbound)
        self.writer = VolumeWriter(self.api, self.view)
        self.changes = ObjectChanges()
        for kind in KINDS.values():
            self.changes.follow(kind, self.writer.noticed)
        self.leads = True
        self.before: list[Callable[[], Any]] = []  # is called before each request, one after the other
        self.written: list[str] = []
        self._version = 10

    @property
    def view(self) -> ClusterView:
        return ClusterView(self.cluster.cache.objects, self.cluster.cache.find_node, self.pods.get)

    def store(self, path: str, change: Any) -> Any:
        """Merge a change into an object."""
        whole = self.objects.setdefault(path, {"metadata": {"uid": f"uid-of-{path.rpartition('/')[2]}"}})
        unchanged = deepcopy(whole)
        merge(whole, change)
        if whole != unchanged:
            self._version += 1
            whole["metadata"]["resourceVersion"] = str(self._version)
        return whole

    async def patch(
        self, path: str, body: bytes, *, content_type: str = "", may_send: Callable[[], bool] | None = None
    ) -> bytes:
        if may_send is not None and not may_send():
            raise Withheld
        if self.before and isinstance(answer := self.before.pop(0)(), Exception):
            raise answer
        name, change = path.rpartition("/")[2], json.loads(body)
        kind = path.rpartition("/")[0].rpartition("/")[2]
        if path not in self.objects:
            raise self.refusal(404, f'{kind} "{name}" not found')
        metadata = self.objects[path]["metadata"]
        if change["metadata"].pop("resourceVersion") != metadata["resourceVersion"]:
            raise self.refusal(409, CONFLICT)
        if change["metadata"]["uid"] != metadata["uid"]:
            raise self.refusal(422, "metadata.uid: Invalid value: field is immutable")
        self.written.append(name)
        return json.dumps(self.store(path, change)).encode()

    async def get(self, path: str, *, accept: str = "") -> bytes:
        raise AssertionError("the watches tell enough")

    async def post(self, path: str, body: bytes, *, may_send: Callable[[], bool] | None = None) -> bytes:
        raise AssertionError("nothing is created")

    async def put(self, path: str, body: bytes, *, content_type: str, may_send: Callable[[], bool]) -> bytes:
        raise AssertionError("nothing is replaced")

    async def delete(self, path: str, body: bytes, *, may_send: Callable[[], bool] | None = None) -> bytes:
        raise AssertionError("nothing is deleted")

    def tell(self, *, quietly: bool = False) -> None:
        """Let the watch catch up."""
        for path, whole in self.objects.items():
            seen = msgspec.convert(whole, KINDS[path.rpartition("/")[0]])
            old = self.cluster.cache.objects.put(seen)
            if not quietly and old != seen:
                self.changes.notify(seen)

    def delete_object(self, path: str) -> None:
        del self.objects[path]
        found = self.cluster.cache.objects.get(KINDS[path.rpartition("/")[0]], path.rpartition("/")[2])
        assert found is not None
        self.cluster.cache.objects.drop(found)
        self.changes.notify(found)

    def complete(self, claim: str = "c", volume: str = "v") -> None:
        """Bind a claim, as the controllers do."""
        self.store(
            f"{CLAIMS}/{claim}", {"metadata": {"annotations": {COMPLETED: "yes"}}, "spec": {"volumeName": volume}}
        )
        self.store(f"{VOLUMES}/{volume}", {"status": {"phase": "Bound"}})

    # What tests are about.

    def volume(self, name: str = "v") -> PersistentVolume:
        found = self.cluster.cache.objects.get(PersistentVolume, name)
        assert found is not None
        return found

    def claim(self, name: str = "c") -> PersistentVolumeClaim:
        found = self.cluster.cache.objects.get(PersistentVolumeClaim, name, "ns")
        assert found is not None
        return found

    async def bind(self, *, volumes: str = "v", claims: str = "m", seconds: float = 30, name: str = "web") -> str:
        """Give volumes v, w to claims c, d, and have volumes made for others."""
        pairs = [(self.volume(each), self.claim({"v": "c", "w": "d"}[each])) for each in volumes]
        pod = self.pods.setdefault(f"ns/{name}", make_pod(name, namespace="ns", uid=name))
        return await self.writer.bind(
            pod,
            "n1",
            [taken(*pair) for pair in pairs],
            [made_on(self.claim(each), "n1") for each in claims],
            seconds,
        )

    @property
    def nobody_waits(self) -> bool:
        return not self.writer._waiting


def merge(whole: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict):
            merge(whole.setdefault(key, {}), value)
        elif value is None:
            whole.pop(key, None)
        else:
            whole[key] = value


@pytest.fixture
def server(refusal: Any) -> Server:
    """Has volumes v and w, claims c and d for them, and claims m and n for which volumes have to be made."""
    server = Server(refusal)
    for name in "vw":
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "found"}
        unread = {"persistentVolumeReclaimPolicy": "Retain", "local": {"path": "/x"}, "mountOptions": ["noatime"]}
        metadata: dict[str, Any] = {"name": name, "labels": {"a": "b"}, "annotations": {"x": "y"}, "finalizers": ["f"]}
        server.store(
            f"{VOLUMES}/{name}", {"metadata": metadata, "spec": spec | unread, "status": {"phase": "Available"}}
        )
    for name, storage_class in {"c": "found", "d": "found", "m": "made", "n": "made"}.items():
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
        unread = {"dataSourceRef": {"kind": "VolumeSnapshot", "name": "s"}}
        metadata = {"name": name, "namespace": "ns", "annotations": {"x": "y"}}
        metadata["managedFields"] = [{"manager": "k"}]
        resources = {"requests": {"storage": "1Gi"}}
        server.store(f"{CLAIMS}/{name}", {"metadata": metadata, "spec": {**spec, **unread, "resources": resources}})
    server.tell()
    return server


def now() -> float:
    return asyncio.get_running_loop().time()


async def started(waiting: Coroutine[Any, Any, str]) -> "asyncio.Task[str]":
    """Begin, and come as far as the waiting."""
    task = asyncio.ensure_future(waiting)
    await asyncio.sleep(0.001)
    return task


# ----------------------------------------------------------------------------------------------------------- writing


async def test_what_is_sent(fake_api: Any, server: Server) -> None:
    api = fake_api()
    writer = VolumeWriter(PluginApi(api, lambda *_: True, unbound), server.view)
    pod = make_pod("web", namespace="ns")
    with pytest.raises(msgspec.ValidationError):  # an answer without a version is no answer
        await writer.bind(pod, "n1", [taken(server.volume(), server.claim())], [], 1)
    with pytest.raises(msgspec.ValidationError):
        await writer.bind(pod, "n1", [], [made_on(server.claim("m"), "n1")], 1)
    volume, claim = api.calls
    assert (volume.verb, volume.path) == ("PATCH", f"{VOLUMES}/v")
    assert volume.body == {
        "metadata": {"uid": "uid-of-v", "resourceVersion": "11", "annotations": {BOUND_BY: "yes"}},
        "spec": {
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "ns",
                "name": "c",
                "uid": "uid-of-c",
                "resourceVersion": "13",
                "fieldPath": None,
            }
        },
    }
    assert (claim.verb, claim.path) == ("PATCH", f"{CLAIMS}/m")
    assert claim.body == {"metadata": {"uid": "uid-of-m", "resourceVersion": "15", "annotations": {SELECTED: "n1"}}}


async def test_volumes_come_before_claims_and_both_in_order(server: Server) -> None:
    assert await server.bind(volumes="wv", claims="nm", seconds=0) == OUT_OF_TIME
    assert server.written == ["w", "v", "n", "m"]


async def test_nothing_is_lost_that_we_do_not_read(server: Server) -> None:
    before = deepcopy(server.objects)
    await server.bind(seconds=0)
    volume, claim = server.objects[f"{VOLUMES}/v"], server.objects[f"{CLAIMS}/m"]
    del volume["spec"]["claimRef"], volume["metadata"]["annotations"][BOUND_BY]
    del claim["metadata"]["annotations"][SELECTED]
    for path in before:
        before[path]["metadata"].pop("resourceVersion")
        server.objects[path]["metadata"].pop("resourceVersion")
    assert server.objects == before


async def test_a_volume_that_was_kept_for_the_claim_is_not_marked(server: Server) -> None:
    server.store(f"{VOLUMES}/v", {"spec": {"claimRef": {"namespace": "ns", "name": "c", "fieldPath": "x"}}})
    server.tell()
    await server.bind(claims="", seconds=0)
    volume = server.objects[f"{VOLUMES}/v"]
    assert volume["metadata"]["annotations"] == {"x": "y"}
    assert volume["spec"]["claimRef"]["uid"] == "uid-of-c"
    assert "fieldPath" not in volume["spec"]["claimRef"]


async def test_a_claim_that_a_pod_names_twice_is_written_once(server: Server) -> None:
    task = await started(server.bind(volumes="", claims="mm"))
    assert server.written == ["m"]
    server.complete("m")
    server.tell()
    assert await task == ""


async def test_a_name_cannot_leave_its_place_in_the_path(fake_api: Any, server: Server, refusal: Any) -> None:
    api = fake_api(refusal(404), refusal(404))
    volume, claim = taken(server.volume(), server.claim()), made_on(server.claim("m"), "n1")
    volume.metadata.name = claim.metadata.name = "../x?y"
    writer = VolumeWriter(PluginApi(api, lambda *_: True, unbound), server.view)
    await writer.bind(make_pod("web"), "n1", [volume], [], 1)
    await writer.bind(make_pod("web"), "n1", [], [claim], 1)
    assert [call.path for call in api.calls] == [f"{VOLUMES}/..%2Fx%3Fy", f"{CLAIMS}/..%2Fx%3Fy"]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        pytest.param(409, CONFLICT, id="a conflict"),
        pytest.param(404, 'persistentvolumes "v" not found', id="it is gone"),
        pytest.param(403, "forbidden", id="we may not"),
        pytest.param(422, "invalid", id="the server finds it invalid"),
    ],
)
@pytest.mark.parametrize("place", range(4), ids=["the first", "the second", "the third", "the last"])
async def test_a_refusal_is_final_and_in_the_servers_words(
    server: Server, refusal: Any, status: int, message: str, place: int
) -> None:
    server.before = [lambda: None] * place + [lambda: refusal(status, message)]
    assert await server.bind(volumes="vw", claims="mn") == message
    assert server.written == ["v", "w", "m"][:place], "what was written before stays, nothing comes after"
    assert now() == 0
    assert server.nobody_waits


async def test_somebody_else_was_faster(server: Server) -> None:
    server.store(f"{VOLUMES}/v", {"metadata": {"labels": {"a": "c"}}})
    assert await server.bind() == CONFLICT
    assert server.written == []


async def test_another_object_of_the_same_name(server: Server) -> None:
    server.objects[f"{VOLUMES}/v"]["metadata"]["uid"] = "another"
    assert await server.bind() == "metadata.uid: Invalid value: field is immutable"


@pytest.mark.parametrize(
    "failures",
    [
        pytest.param([500, 503], id="errors of the server"),
        pytest.param([429], id="too many requests"),
        pytest.param([None, None, None], id="no connection"),
    ],
)
async def test_trouble_that_passes(server: Server, refusal: Any, failures: list[int | None]) -> None:
    server.before = [
        lambda status=status: Unreachable("down") if status is None else refusal(status)  # type: ignore[misc]
        for status in failures
    ]
    assert await server.bind(claims="", seconds=0) == OUT_OF_TIME
    assert server.written == ["v"]


async def test_trouble_that_does_not_pass(server: Server) -> None:
    server.before = [lambda: Unreachable("connection refused")] * 9
    assert await server.bind() == "connection refused"
    assert len(server.before) == 5, "four attempts"


async def test_a_write_without_an_answer_is_not_made_twice(server: Server) -> None:
    def takes_effect() -> Exception:
        server.store(f"{VOLUMES}/v", {"spec": {"claimRef": {"namespace": "ns", "name": "c", "uid": "uid-of-c"}}})
        return OutcomeUnknown("the connection was lost")

    server.before = [takes_effect]
    assert await server.bind() == CONFLICT
    server.tell()
    task = await started(server.bind())  # the next try finds what it has, and goes on
    server.complete()
    server.complete("m", "w")
    server.tell()
    assert await task == ""


async def test_nothing_is_written_without_leave(server: Server) -> None:
    server.leads = False
    assert await server.bind() == NOT_ALLOWED
    assert server.written == []
    server.leads = True
    server.before = [lambda: None, lambda: setattr(server, "leads", False)]
    assert await server.bind(volumes="vw") == NOT_ALLOWED
    assert server.written == ["v", "w"], "it is asked before every request"


# ----------------------------------------------------------------------------------------------------------- waiting


async def test_done_when_the_watch_says_so(server: Server) -> None:
    task = await started(server.bind())
    server.tell()
    await asyncio.sleep(0)
    server.complete()
    server.tell()
    await asyncio.sleep(0.1)
    assert not task.done(), "one of two"
    server.complete("m", "w")
    server.tell()
    assert await task == ""
    assert now() < 0.2, "news wake"
    assert server.nobody_waits


async def test_news_of_the_claim_of_a_volume_are_enough(server: Server) -> None:
    task = await started(server.bind(claims=""))
    server.complete()
    server.tell(quietly=True)
    server.writer.noticed(server.claim())
    assert await task == ""
    assert now() < 0.1


async def test_lost_news_are_found_within_a_second(server: Server) -> None:
    task = await started(server.bind())
    server.complete()
    server.complete("m", "w")
    server.tell(quietly=True)
    assert await task == ""
    assert now() == pytest.approx(1.0)


@pytest.mark.parametrize("seconds", [0, 0.3, 1, 7, 600])
async def test_out_of_time(server: Server, seconds: float) -> None:
    server.before = [lambda: server.tell()] * 2
    assert await server.bind(seconds=seconds) == OUT_OF_TIME
    assert now() == pytest.approx(seconds)
    assert server.nobody_waits


async def test_bound_at_the_last_moment(server: Server) -> None:
    task = await started(server.bind(seconds=2.5))
    await asyncio.sleep(2.4)
    server.complete()
    server.complete("m", "w")
    server.tell(quietly=True)
    assert await task == ""


async def test_a_failure_is_noticed_at_once(server: Server) -> None:
    task = await started(server.bind())
    server.tell()
    await asyncio.sleep(0.1)
    server.store(f"{CLAIMS}/m", {"metadata": {"annotations": {SELECTED: None}}})
    server.complete()
    server.tell()
    assert await task == 'binding volumes: provisioning failed for PVC "m"'
    assert now() < 0.2
    assert server.nobody_waits


async def test_a_volume_that_is_deleted_is_noticed_at_once(server: Server) -> None:
    task = await started(server.bind())
    server.tell()
    server.delete_object(f"{VOLUMES}/v")
    assert await task == 'binding volumes: failed to check binding: persistentvolumes "v" not found'
    assert now() < 0.1


async def test_a_pod_that_is_deleted_is_noticed_within_a_second(server: Server) -> None:
    task = await started(server.bind())
    server.pods.clear()
    assert await task == 'binding volumes: pod does not exist any more: pod "web" not found'
    assert now() == pytest.approx(1.0)


async def test_two_pods_that_wait_for_one_claim(server: Server) -> None:
    one = await started(server.bind(volumes="", name="one"))
    server.tell()
    other = await started(server.bind(volumes="", name="other"))
    server.complete("m")
    server.tell()
    assert [await one, await other] == ["", ""]
    assert now() < 0.1
    assert server.nobody_waits


async def test_many_that_wait_do_not_all_look_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    look = VolumeProgress.look

    def noted(progress: VolumeProgress) -> Any:
        looks.append(now())
        return look(progress)

    monkeypatch.setattr(VolumeProgress, "look", noted)
    monkeypatch.setattr(volume_writer, "BETWEEN_PODS", 0.1)
    pod = server.pods["ns/web"] = make_pod("web", namespace="ns", uid="web")
    progress = VolumeProgress(server.view, pod, "n1")
    progress.claims.append(Written(made_on(server.claim("m"), "n1"), "1000"))  # what the watch has not come to
    tasks = [asyncio.ensure_future(server.writer._wait(progress, 30.0)) for _ in range(30)]
    await asyncio.sleep(10.0)
    each_second = Counter(int(moment) for moment in looks if moment > 0.5)
    assert set(each_second) >= set(range(1, 10))
    assert max(each_second.values()) <= 11  # of thirty, each of which would look once
    for task in tasks:
        task.cancel()


async def test_who_gets_news_all_the_time_does_not_delay_the_looks_of_others(server: Server) -> None:
    busy = await started(server.bind())
    for _ in range(2_000):
        server.writer.noticed(server.claim("m"))
        await asyncio.sleep(0)
    task = await started(server.bind(volumes="w", claims="n", name="other"))
    server.pods.pop("ns/other")
    assert "pod does not exist any more" in await task
    assert now() == pytest.approx(1.0, abs=0.1)
    busy.cancel()


async def test_news_of_others_wake_nobody(server: Server) -> None:
    looks = 0

    def find_pod(key: str) -> Pod | None:
        nonlocal looks
        looks += 1
        return server.pods.get(key)

    server.writer._view = ClusterView(server.view.objects, server.view.find_node, find_pod)
    task = await started(server.bind())
    for _ in range(5):
        server.writer.noticed(server.volume("w"))
        server.writer.noticed(server.claim("d"))
        await asyncio.sleep(0.01)
    assert looks == 1
    task.cancel()


@pytest.mark.parametrize("when", ["while a request is under way", "while it waits"])
async def test_a_pod_can_be_stopped(server: Server, when: str) -> None:
    answered = asyncio.Event()
    patch = server.patch

    async def slow(path: str, body: bytes, **options: Any) -> bytes:
        answer = await patch(path, body, **options)
        await answered.wait()
        return answer

    server.patch = slow  # type: ignore[method-assign]
    task = await started(server.bind())
    if when == "while it waits":
        answered.set()
        await asyncio.sleep(0.001)
    assert server.nobody_waits is not answered.is_set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.nobody_waits
    assert server.written == ["v", "m"][: 1 + answered.is_set()], "what was written stays"


# ---------------------------------------------------------------------------------------- what the plugin holds back


def reserved(plugin: VolumeBinding, server: Server, pod: Pod) -> Cycle:
    server.pods[pod.key] = pod
    cycle = server.cluster.cycle(pod)
    assert plugin.pre_filter(cycle, pod) is None
    assert plugin.reserve(cycle, pod, "n1") is None
    return cycle


def user(name: str, *claims: str) -> Pod:
    return make_pod(name, namespace="ns", uid=name, spec=claim_volumes(*claims))


def held(plugin: VolumeBinding) -> tuple[int, int]:
    return len(plugin._reservations.volumes), len(plugin._reservations.claims)


def connected(server: Server, seconds: int = 5) -> VolumeBinding:
    plugin = VolumeBinding(bindTimeoutSeconds=seconds)  # type: ignore[call-arg] # by its name outside
    cache = server.cluster.cache
    handle = Handle(objects=cache.objects, api=server.api, find_node=cache.find_node, find_pod=server.pods.get)
    handle.changes = server.changes
    plugin.start(handle)
    return plugin


async def test_what_a_pod_takes_is_never_free_for_another_until_it_is_bound(server: Server) -> None:
    server.store(f"{VOLUMES}/w", {"status": {"phase": "Failed"}})
    server.tell()
    plugin, pod, other = connected(server), user("one", "c"), user("other", "d")
    cycle = reserved(plugin, server, pod)
    nowhere = {"n1": NOTHING_TO_BIND, "n2": NOTHING_TO_BIND}
    assert filter_all(plugin, server.cluster, other) == nowhere
    task = asyncio.ensure_future(plugin.pre_bind(cycle, pod, "n1"))
    await asyncio.sleep(0.001)
    assert server.written == ["v"]
    assert filter_all(plugin, server.cluster, other) == nowhere, "the watch has not told yet"
    assert held(plugin) == (1, 0)
    server.tell()
    assert filter_all(plugin, server.cluster, other) == nowhere, "the API says so"
    assert held(plugin) == (0, 0), "which ends what we assumed"
    server.complete()
    server.tell()
    assert await task is None
    assert filter_all(plugin, server.cluster, other) == nowhere
    assert held(plugin) == (0, 0)


async def test_nothing_is_held_for_claims_that_are_bound(server: Server) -> None:
    plugin, pod = connected(server), user("one", "c", "m")
    cycle = reserved(plugin, server, pod)
    assert held(plugin) == (1, 1)
    task = asyncio.ensure_future(plugin.pre_bind(cycle, pod, "n1"))
    await asyncio.sleep(0.001)
    server.complete()
    server.complete("m", "w")
    server.tell()
    assert await task is None
    assert held(plugin) == (0, 0), "although nobody asked about them since"
    plugin.unreserve(cycle, pod, "n1")
    assert held(plugin) == (0, 0)


async def test_nothing_stays_held_after_a_failure(server: Server) -> None:
    plugin, pod = connected(server), user("one", "c", "m")
    cycle = reserved(plugin, server, pod)
    server.before = [lambda: None, lambda: server.refusal(409, CONFLICT)]
    with pytest.raises(PluginFailed) as failed:
        await plugin.pre_bind(cycle, pod, "n1")
    assert str(failed.value) == CONFLICT
    plugin.unreserve(cycle, pod, "n1")
    assert held(plugin) == (0, 0)
    assert server.written == ["v"]
    server.tell()
    cycle = reserved(plugin, server, pod)  # what was written serves the next try
    assert held(plugin) == (1, 1)
    with pytest.raises(PluginFailed) as failed:
        await plugin.pre_bind(cycle, pod, "n1")
    assert str(failed.value) == OUT_OF_TIME
    plugin.unreserve(cycle, pod, "n1")
    assert held(plugin) == (0, 0)


async def test_a_volume_looks_free_until_the_watch_tells_and_whoever_takes_it_meets_a_conflict(server: Server) -> None:
    server.store(f"{VOLUMES}/w", {"status": {"phase": "Failed"}})
    server.tell()
    plugin, pod, other = connected(server, 0), user("one", "c"), user("other", "d")
    cycle = reserved(plugin, server, pod)
    with pytest.raises(PluginFailed, match=OUT_OF_TIME):
        await plugin.pre_bind(cycle, pod, "n1")
    plugin.unreserve(cycle, pod, "n1")
    second = reserved(plugin, server, other)
    with pytest.raises(PluginFailed) as failed:
        await plugin.pre_bind(second, other, "n1")
    assert str(failed.value) == CONFLICT
    plugin.unreserve(second, other, "n1")
    assert server.objects[f"{VOLUMES}/v"]["spec"]["claimRef"]["name"] == "c"
