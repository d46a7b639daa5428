"""The read API in the chart: its port, the Service that leads to the leader, and who can reach it."""

from collections.abc import Callable
from typing import Any

Render = Callable[..., list[dict[str, Any]]]

EVERYBODY: dict[str, Any] = {"namespaceSelector": {}}
HERE: dict[str, Any] = {"podSelector": {}}


def of_kind(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any] | None:
    """Return the object of a kind and a name."""
    found = (each for each in objects if each["kind"] == kind and each["metadata"]["name"] == name)
    return next(found, None)


def container(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the scheduler's container."""
    deployment = of_kind(objects, "Deployment", "mine-pilotage-scheduler")
    assert deployment is not None
    found: dict[str, Any] = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def test_it_is_served_on_a_port_of_its_own(render: Render) -> None:
    found = container(render())
    assert "--api-port=10260" in found["args"]
    assert {"name": "api", "containerPort": 10260} in found["ports"]


def test_its_service_leads_to_the_pod_that_leads(render: Render) -> None:
    service = of_kind(render(), "Service", "mine-pilotage-api")
    assert service is not None
    assert service["spec"]["selector"]["pilotage.dev/leads"] == "true"
    assert service["spec"]["selector"]["app.kubernetes.io/component"] == "scheduler"
    assert [(each["port"], each["targetPort"]) for each in service["spec"]["ports"]] == [(443, "api")]


def test_without_it_there_is_no_port_no_service_and_no_right(render_values: Render) -> None:
    objects = render_values({"api": {"enabled": False}})
    found = container(objects)
    assert "--api-port=0" in found["args"]
    assert [each["name"] for each in found["ports"]] == ["https"]
    assert of_kind(objects, "Service", "mine-pilotage-api") is None
    assert rights_to_profiles(objects) == []
    assert rights_to_profiles(render_values({})) != []


def rights_to_profiles(objects: list[dict[str, Any]]) -> list[str]:
    """Return the scheduler's cluster roles with a right to SchedulerProfiles, and the one for readers."""
    roles = (each for each in objects if each["kind"] == "ClusterRole")
    own = [each for each in roles if each["metadata"]["labels"]["app.kubernetes.io/component"] == "scheduler"]
    rules = [(each["metadata"]["name"], rule) for each in own for rule in each["rules"]]
    return [name for name, rule in rules if "schedulerprofiles" in rule.get("resources", ())]


def test_only_named_peers_reach_it(render_values: Render) -> None:
    def ports(values: dict[str, Any]) -> list[tuple[str, list[Any]]]:
        policy = of_kind(render_values(values), "NetworkPolicy", "mine-pilotage-scheduler")
        assert policy is not None
        return [(rule["ports"][0]["port"], rule["from"]) for rule in policy["spec"]["ingress"]]

    assert ports({}) == []
    assert ports({"api": {"from": [EVERYBODY]}}) == [("api", [EVERYBODY])]
    both = ports({"networkPolicy": {"from": [HERE]}, "api": {"from": [EVERYBODY]}})
    assert both == [("https", [HERE]), ("api", [EVERYBODY])]
    assert ports({"api": {"enabled": False, "from": [EVERYBODY]}}) == []


def test_its_readers_are_bound_to_nobody(render: Render) -> None:
    bindings = [each for each in render() if each["kind"] in ("ClusterRoleBinding", "RoleBinding")]
    assert not [each for each in bindings if "api-reader" in each["roleRef"]["name"]]
    assert any("api-reader" in name for name in rights_to_profiles(render()))


def test_a_role_for_users_forwards_ports_and_is_bound_to_nobody(render_values: Render) -> None:
    objects = render_values({})
    role = of_kind(objects, "Role", "mine-pilotage-ask")
    assert role is not None
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["pods"], ["get", "list"]),
        (["pods/portforward"], ["create"]),
    ]
    assert not [each for each in objects if each.get("roleRef", {}).get("name") == "mine-pilotage-ask"]
    assert of_kind(render_values({"api": {"enabled": False}}), "Role", "mine-pilotage-ask") is None
    assert of_kind(render_values({"rbac": {"create": False}}), "Role", "mine-pilotage-ask") is None
