"""Selectors that services and controllers imply: found without looking at every service, and never out of date."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from pilotage.cache.object_store import ObjectStore
from pilotage.framework.api.objects import Found
from pilotage.kinds.workloads import ExactSelectorSpec, LabelSelectorSpec, ReplicaSet, Service
from pilotage.model.metadata import Metadata
from pilotage.model.selectors import LabelSelector
from pilotage.plugins.topology.pod_topology_spread.default_selectors import DefaultSelectors, ServiceIndex
from pilotage.testing import make_pod

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))
OWNED = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "controller": True}]}


class CountingStore(ObjectStore):
    """Counts how often all objects are looked at."""

    looks = 0

    def all(self, kind: type[Found], namespace: str | None = None) -> Iterable[Found]:
        """Count, and return all objects."""
        self.looks += 1
        return super().all(kind, namespace)


def service(name: str, selector: dict[str, str] | None, namespace: str = "default") -> Service:
    """A service with a selector."""
    return Service(Metadata(name=name, namespace=namespace), ExactSelectorSpec(selector))


def replica_set(**labels: str) -> ReplicaSet:
    """A replica set of pods with these labels."""
    return ReplicaSet(Metadata(name="rs", namespace="default"), LabelSelectorSpec(LabelSelector(labels)))


@given(st.lists(st.none() | LABELS), LABELS)
def test_the_index_finds_what_a_scan_finds(selectors: list[dict[str, str] | None], labels: dict[str, str]) -> None:
    services = [service(str(number), selector) for number, selector in enumerate(selectors)]
    scanned: dict[str, str] = {}
    for selector in selectors:
        if selector is not None and all(labels.get(key) == value for key, value in selector.items()):
            scanned |= selector
    assert ServiceIndex(services).selected(labels) == scanned


def test_services_are_looked_at_once_while_none_changes() -> None:
    store, selectors = CountingStore(), DefaultSelectors()
    store.put(service("web", {"app": "web"}))
    for number in range(5):
        pod = make_pod(f"p{number}", labels={"app": "web", "number": str(number)}, metadata=OWNED)
        store.put(replica_set(number=str(number)))  # its status changes with every pod
        found = selectors.of(store, pod)
        assert found.requirements == (("app", "In", ("web",)), ("number", "In", (str(number),)))
    assert store.looks == 1
    store.put(service("all", {"tier": "front"}))
    selectors.of(store, make_pod(labels={"app": "web"}))
    assert store.looks == 2


def test_an_answer_is_kept_while_the_controller_says_the_same() -> None:
    store, selectors, pod = ObjectStore(), DefaultSelectors(), make_pod(labels={"app": "web"}, metadata=OWNED)
    store.put(replica_set(app="web"))
    first = selectors.of(store, pod)
    store.put(replica_set(app="web"))
    assert selectors.of(store, pod) is first
    store.put(replica_set(app="other"))
    assert selectors.of(store, pod).requirements == (("app", "In", ("other",)),)


def test_another_store_is_another_world() -> None:
    selectors, pod = DefaultSelectors(), make_pod(labels={"app": "web"})
    one, other = ObjectStore(), ObjectStore()
    one.put(service("web", {"app": "web"}))
    other.put(service("web", {"app": "other"}))
    assert not selectors.of(one, pod).empty
    assert selectors.of(other, pod).empty


def test_a_controller_with_an_absurd_selector_spreads_nobody() -> None:
    objects = ObjectStore()
    objects.put(service("s", {"app": "x"}))
    pod = make_pod(labels={"app": "x"}, metadata=OWNED)
    objects.put(replica_set(**{f"k{i}": "v" for i in range(1000)}))
    assert not DefaultSelectors().of(objects, pod).empty
    objects.put(replica_set(**{f"k{i}": "v" for i in range(1001)}))
    assert DefaultSelectors().of(objects, pod).empty
