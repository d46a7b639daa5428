"""Objects that are there and cannot be decoded are remembered for as long as that is so."""

import pytest

from pilotage.cache.object_store import ObjectStore
from pilotage.kinds.app_network import AppGroup
from pilotage.kinds.elastic_quota import PRIORITY_CLASSES, ElasticQuota, ElasticQuotaSpec
from pilotage.kinds.workloads import Namespace
from pilotage.model.metadata import Metadata

SHOP = AppGroup(Metadata(name="shop", namespace="x"))


def told(store: ObjectStore) -> dict[str, str]:
    return dict(store.troubles(AppGroup, "x"))


@pytest.fixture
def store() -> ObjectStore:
    """One that knows of a trouble."""
    made = ObjectStore()
    made.note_trouble(AppGroup, "shop", "x", "why")
    return made


def test_a_trouble_is_that_of_one_object(store: ObjectStore) -> None:
    assert told(store) == {"shop": "why"}
    assert store.get(AppGroup, "shop", "x") is None
    assert store.troubles(AppGroup, "y") == store.troubles(AppGroup) == store.troubles(Namespace, "x") == {}


def test_the_newest_reason_counts(store: ObjectStore) -> None:
    store.note_trouble(AppGroup, "shop", "x", "something else")
    assert told(store) == {"shop": "something else"}


def test_it_ends_when_the_object_can_be_understood(store: ObjectStore) -> None:
    store.note_trouble(AppGroup, "other", "x", "why")
    store.put(SHOP)
    assert told(store) == {"other": "why"}
    assert store.get(AppGroup, "shop", "x") is SHOP


def test_nothing_is_left_of_it_when_the_object_is_gone(store: ObjectStore) -> None:
    store.forget_trouble(AppGroup, "shop", "x")
    assert told(store) == {}
    assert store._troubles == {}


def test_whoever_has_derived_something_finds_out(store: ObjectStore) -> None:
    seen = [(store.version(AppGroup), store.changes)]
    store.note_trouble(AppGroup, "shop", "x", "something else")
    seen.append((store.version(AppGroup), store.changes))
    store.forget_trouble(AppGroup, "shop", "x")
    seen.append((store.version(AppGroup), store.changes))
    assert seen == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("later", "counts"),
    [
        pytest.param(ElasticQuota(Metadata("q", "x", "1", resource_version="2")), False, id="its status alone"),
        pytest.param(ElasticQuota(Metadata("q", "x", "1"), ElasticQuotaSpec(min={"cpu": 1})), True, id="its bounds"),
        pytest.param(ElasticQuota(Metadata("q", "x", "1", annotations={PRIORITY_CLASSES: "a"})), True, id="for whom"),
        pytest.param(ElasticQuota(Metadata("q", "x", "2")), True, id="another of the same name"),
    ],
)
def test_what_of_a_quota_counts_as_a_change(later: ElasticQuota, counts: bool) -> None:
    store = ObjectStore()
    store.put(ElasticQuota(Metadata("q", "x", "1", resource_version="1")))
    before = store.version(ElasticQuota)
    store.put(later)
    assert (store.version(ElasticQuota) > before) is counts
    assert store.get(ElasticQuota, "q", "x") is later


def test_a_kind_that_nobody_reads_is_forgotten_with_its_troubles(store: ObjectStore) -> None:
    store.put(SHOP)
    store.put(Namespace(Metadata(name="x")))
    store.note_trouble(AppGroup, "other", "x", "why")
    store.drop_all(AppGroup)
    assert (list(store.all(AppGroup)), told(store)) == ([], {})
    assert store.get(Namespace, "x") is not None
