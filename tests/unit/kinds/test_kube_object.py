"""How a kind is declared, and what comes of it."""

from typing import Any

import msgspec
import pytest
from msgspec import Struct

from pilotage.framework.api.events import Action, Event, Resource, Retry, what_changes
from pilotage.framework.runtime.reading import permission_on
from pilotage.kinds.every import KindTable
from pilotage.kinds.kube_object import ApiKind, KindMeta, KubeObject
from pilotage.kinds.storage import PersistentVolume


class RackSpec(Struct):
    """What is read."""

    max_watts: int = 0


class Rack(KubeObject, group="power.example.com", version="v1beta2", plural="racks", scope="Cluster"):
    """A kind of somebody else."""

    spec: RackSpec
    max_units: int = 42


class OtherRack(KubeObject, group="power.example.com", version="v1", plural="racks", kind="Rack"):
    """The same kind, as another file declares it."""


MANIFEST = {"apiVersion": "power.example.com/v1", "kind": "Rack", "metadata": {"name": "r1"}, "spec": {"other": 1}}


def test_where_the_api_has_it() -> None:
    api = Rack.api
    assert api == ApiKind("power.example.com", "v1beta2", "racks", "Rack", "Cluster")
    assert (str(api), api.title) == ("racks.power.example.com", "power.example.com/Rack")
    assert (api.path(), api.api_version) == ("/apis/power.example.com/v1beta2/racks", "power.example.com/v1beta2")
    assert OtherRack.api.path("a", "b") == "/apis/power.example.com/v1/namespaces/a/racks/b"
    assert PersistentVolume.api.path(name="v") == "/api/v1/persistentvolumes/v"


def test_fields_have_the_names_of_the_api_and_others_are_skipped() -> None:
    text = b'{"metadata": {"name": "r1", "managedFields": []}, "spec": {"extra": 1}, "maxUnits": 7, "status": {}}'
    found = msgspec.json.decode(text, type=Rack)
    assert (found.metadata.name, found.spec, found.max_units) == ("r1", RackSpec(), 7)


def test_a_field_without_a_default_must_be_there() -> None:
    with pytest.raises(msgspec.ValidationError, match="missing required field `spec`"):
        msgspec.json.decode(b'{"metadata": {"name": "r1"}}', type=Rack)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        pytest.param({}, "Wrong must declare its API", id="nothing"),
        pytest.param({"group": "a.b"}, 'version must be like "v1" or "v1alpha1"', id="only a group"),
        pytest.param({"group": "A.b", "version": "v1", "plural": "x"}, "group must be like", id="a strange group"),
        pytest.param({"group": "a.b", "version": "1", "plural": "x"}, "version must be like", id="a strange version"),
        pytest.param({"group": "a.b", "version": "v1", "plural": "x/y"}, "plural must be like", id="a strange plural"),
        pytest.param(
            {"group": "a.b", "version": "v1", "plural": "x", "scope": "cluster"}, "scope must be", id="a strange scope"
        ),
    ],
)
def test_what_is_wrong_with_a_declaration_is_told_where_it_stands(words: dict[str, Any], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        KindMeta("Wrong", (KubeObject,), {"__module__": "somewhere"}, **words)


def test_a_kind_that_two_files_declare_is_read_for_both() -> None:
    assert KindTable([Rack, OtherRack]).shapes_of(MANIFEST) == (Rack, OtherRack)
    assert KindTable([Rack]).shapes_of(MANIFEST) == (Rack,)
    assert KindTable().shapes_of(MANIFEST) == ()


@pytest.mark.parametrize(
    ("waited", "event", "is_helped"),
    [
        pytest.param(Rack, Event(Rack, Action.ADD), True, id="its own"),
        pytest.param(Rack, Event(OtherRack, Action.ADD), False, id="another declaration of the kind"),
        pytest.param(Rack, Event(Resource.NODE, Action.ADD), False, id="another kind"),
        pytest.param(Resource.EVERYTHING, Event(Rack, Action.ADD), True, id="everything"),
        pytest.param(PersistentVolume, Event(Resource.PERSISTENT_VOLUME, Action.ADD), True, id="the class of a name"),
        pytest.param(
            Resource.PERSISTENT_VOLUME,
            Event(what_changes(PersistentVolume), Action.ADD),
            True,
            id="a name for a class",
        ),
    ],
)
def test_who_waits_for_a_kind(waited: Any, event: Event, is_helped: bool) -> None:
    assert Retry(waited, Action.ALL).matches(event) is is_helped


def test_rights_on_a_part_of_it() -> None:
    found = permission_on(Rack, "patch", part="status")
    assert (found.group, found.resource, found.verbs) == ("power.example.com", "racks/status", ("patch",))
