"""The custom resource definitions that the chart brings: which, for how long, and whether their schemas are sound."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from pilotage.kinds.every import OURS
from pilotage.kinds.kube_object import ApiKind

Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]

FILES = sorted((Path(__file__).parents[2] / "charts/pilotage/files/crds").iterdir())
SWITCHES = {
    "podGroups": "podgroups.scheduling.x-k8s.io",
    "elasticQuotas": "elasticquotas.scheduling.x-k8s.io",
    "nodeResourceTopologies": "noderesourcetopologies.topology.node.k8s.io",
    "appGroups": "appgroups.appgroup.diktyo.x-k8s.io",
    "networkTopologies": "networktopologies.networktopology.diktyo.x-k8s.io",
    "stickyJobs": "stickyjobs.pilotage.dev",
}
PROFILES = "schedulerprofiles.pilotage.dev"
BY_DEFAULT = {PROFILES, *SWITCHES.values()}


def brought(rendered: list[Manifest]) -> dict[str, Manifest]:
    found = [each for each in rendered if each["kind"] == "CustomResourceDefinition"]
    return {each["metadata"]["name"]: each for each in found}


def definition(path: Path) -> Manifest:
    found: Manifest = yaml.safe_load(path.read_text())
    return found


def schema_of(path: Path) -> Manifest:
    (version,) = definition(path)["spec"]["versions"]
    found: Manifest = version["schema"]["openAPIV3Schema"]
    return found


def parts(schema: Manifest, at: str = "") -> Iterator[tuple[str, Manifest]]:
    """Every schema in a schema, with its place."""
    yield at, schema
    inner = {f"{at}.{name}": part for name, part in schema.get("properties", {}).items()}
    inner |= {f"{at}[]": schema["items"]} if "items" in schema else {}
    inner |= {f"{at}.*": schema["additionalProperties"]} if "additionalProperties" in schema else {}
    for place, part in inner.items():
        yield from parts(part, place)


def test_what_comes_by_default(render: Render) -> None:
    assert set(brought(render())) == BY_DEFAULT


@pytest.mark.parametrize("switch", SWITCHES)
def test_each_has_a_switch(render_values: Render, switch: str) -> None:
    without = {SWITCHES[switch]}
    assert set(brought(render_values({"crds": {switch: False}}))) == BY_DEFAULT - without
    assert set(brought(render_values({"crds": {switch: True}}))) == BY_DEFAULT | without


def test_none_comes_where_somebody_else_brings_them(render_values: Render) -> None:
    assert brought(render_values({"crds": {"install": False}})) == {}


def test_a_profile_of_seccomp_is_the_business_of_its_own_operator() -> None:
    assert not any("seccomp" in path.name for path in FILES)


@pytest.mark.parametrize("keep", [True, False])
def test_they_are_kept_by_default(render_values: Render, keep: bool) -> None:
    found = brought(render_values({} if keep else {"crds": {"keep": False}}))
    assert len(found) == len(FILES)
    for each in found.values():
        assert (each["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep") is keep


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_they_come_as_they_are_in_their_files(render_values: Render, path: Path) -> None:
    whole = definition(path)
    found = brought(render_values({}))[whole["metadata"]["name"]]
    assert found["spec"] == whole["spec"]
    assert whole["metadata"].get("annotations", {}).items() <= found["metadata"].get("annotations", {}).items()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_their_names_fit_together(path: Path) -> None:
    whole = definition(path)
    names, group = whole["spec"]["names"], whole["spec"]["group"]
    assert path.name == f"{names['plural']}.{group}.yaml"
    assert whole["metadata"]["name"] == f"{names['plural']}.{group}"
    assert (names["singular"], names["listKind"]) == (names["kind"].lower(), f"{names['kind']}List")
    if group.endswith(".k8s.io"):  # the API server asks for it in groups of Kubernetes itself
        assert "api-approved.kubernetes.io" in whole["metadata"]["annotations"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_their_schemas_are_structural(path: Path) -> None:
    for at, part in parts(schema_of(path)):
        assert ("type" in part) != bool(part.get("x-kubernetes-int-or-string")), at
        assert not {"$ref", "oneOf", "not", "nullable", "uniqueItems"} & set(part), at
        assert not ("properties" in part and "additionalProperties" in part), at
        assert set(part.get("required", ())) <= set(part.get("properties", {})), at
        if part.get("type") == "array":
            assert "items" in part, at
            assert "maxItems" in part, at
        if part.get("x-kubernetes-list-type") == "map":
            keys = set(part["x-kubernetes-list-map-keys"])
            assert keys <= set(part["items"]["required"]), at


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_api_server_adds_nothing_to_entries_of_lists(path: Path) -> None:
    """kubectl compares lists as a whole: a default in an entry would make every apply a write."""
    assert [at for at, part in parts(schema_of(path)) if "[]" in at and "default" in part] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_everything_is_explained(path: Path) -> None:
    told = [at for at, part in parts(schema_of(path)) if not part.get("description")]
    known = (".metadata", ".*", "[]", ".labels", ".annotations")
    assert [at for at in told if not at.endswith(known)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_columns_show_what_there_is(path: Path) -> None:
    (version,) = definition(path)["spec"]["versions"]
    known = {at for at, _ in parts(schema_of(path))} | {".metadata.creationTimestamp"}
    for column in version.get("additionalPrinterColumns", ()):
        where = column["jsonPath"].split("[?")[0]
        assert where in known, column


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name != f"{PROFILES}.yaml"], ids=lambda path: path.name
)
def test_all_that_the_scheduler_reads_is_there(path: Path) -> None:
    """A field that is not in the schema would be dropped by the API server, and the plugin would never see it."""
    spec = definition(path)["spec"]
    (kind,) = [kind for kind in OURS if str(kind.api) == definition(path)["metadata"]["name"]]
    names, (version,) = spec["names"], spec["versions"]
    assert kind.api == ApiKind(spec["group"], version["name"], names["plural"], names["kind"], spec["scope"])
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    known = schema_of(path)["properties"]
    assert set(fields) <= set(known)
    for name in ("spec", "status"):
        if name in fields:
            read = {field.encode_name for field in msgspec.structs.fields(fields[name])}
            assert read <= set(known[name]["properties"])
