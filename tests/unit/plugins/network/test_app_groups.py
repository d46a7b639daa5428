"""Who is part of which application, and where."""

from pilotage.plugins.network._shared.app_groups import GroupMembers, limits_of
from pilotage.testing import make_pod
from pilotage.testing.network import make_app_group, make_member


def test_members_are_counted_by_namespace_part_and_node() -> None:
    members = GroupMembers()
    placed = [
        make_member("one", "shop", "web", node="n1"),
        make_member("two", "shop", "web", node="n1"),
        make_member("three", "shop", "cart", node="n2", namespace="team"),
        make_pod("other", node="n1"),
    ]
    for pod in placed:
        members.add(pod)
    assert members.of("shop") == {"default": {("web", "n1"): 2}, "team": {("cart", "n2"): 1}}
    assert sorted(members.nodes_of("shop")) == ["n1", "n2"]
    members.remove(placed[0])
    assert members.of("shop")["default"] == {("web", "n1"): 1}
    for pod in placed[1:]:
        members.remove(pod)
    assert (members.of("shop"), members._groups) == ({}, {})  # applications come and go


def test_one_that_was_never_counted_changes_nothing() -> None:
    members = GroupMembers()
    members.add(make_member("one", "shop", "web", node="n1"))
    members.remove(make_member("two", "shop", "web", node="n2"))
    members.remove(make_member("three", "blog", "web", node="n1"))
    members.remove(make_pod(node="n1"))
    assert members.of("shop") == {"default": {("web", "n1"): 1}}


def test_all_entries_of_a_part_count_together() -> None:
    spec = make_app_group("shop", {"web": {"cart": 5, "pay": 0}, "cart": ["store"]}).spec
    twice = (*spec.workloads, *make_app_group("shop", {"web": {"cart": 5, "": 1}}).spec.workloads)
    assert limits_of(spec, "web") == {"cart": {5: 1}, "pay": {0: 1}}
    assert limits_of(type(spec)(3, "KahnSort", twice), "web") == {"cart": {5: 2}, "pay": {0: 1}}
    assert limits_of(spec, "store") == limits_of(spec, "") == {}
