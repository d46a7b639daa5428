"""The zone of each container of a node, as reported by an agent.

The report has a line about all zones, `npv0v001::ve=leb89::cc=3::nn=2::bn=1`: three containers, two zones, most of them
in zone 1. The containers are those with exclusive resources, in the order of their hashes; for each zone except the
busiest, the line lists the indices of its containers in that order, as differences from one to the next.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pilotage.kinds.node_resource_topology import NodeResourceTopology, Zone
from pilotage.plugins.topology.node_resource_topology_match.fingerprints import attribute
from pilotage.plugins.topology.node_resource_topology_match.xxh64 import xxh64
from pilotage.plugins.topology.node_resource_topology_match.zones import zone_id

METADATA: Final = "topology.node.k8s.io/numaplacement-metadata"
VECTOR: Final = "topology.node.k8s.io/numaplacement-vector"
VERSION: Final = "npv0v001"
ENCODING: Final = "leb89"
# The printable characters that JSON never escapes: the first ones end a number, the others start or continue one.
ALPHABET: Final = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"&<>\\')
ENDING: Final = 64
CONTINUING: Final = len(ALPHABET) - ENDING
LONGEST: Final = 6  # characters of a number; no node has that many containers
WHOLE: Final = re.compile("[0-9]{1,9}")

ContainerName = tuple[str, str, str]  # namespace, pod, container
Placement = Mapping[ContainerName, int]  # the zone of each container


class Unreadable(ValueError):
    """An invalid report of an agent."""


def placement_of(topology: NodeResourceTopology, containers: Iterable[ContainerName]) -> Placement | None:
    """Return the zones of these containers; None if the report lacks them, or is about other containers."""
    try:
        facts = _facts(attribute(topology, METADATA))
        busiest = int(facts["bn"])
        ordered = sorted(set(containers), key=container_hash)
        if int(facts["cc"]) != len(ordered) or not 0 <= busiest < int(facts["nn"]):
            return None
        placed = dict.fromkeys(ordered, busiest)
        for zone in topology.zones:
            for place in _places(zone, len(ordered)):
                placed[ordered[place]] = _known_id(zone)
    except (Unreadable, KeyError):
        return None
    return placed


def container_hash(container: ContainerName) -> int:
    """Return the number that containers are sorted by."""
    return xxh64("\0".join(container).encode())


def numbers(text: str) -> Iterator[int]:
    """Yield the numbers encoded in a text, with one or more characters each."""
    high = length = 0
    for character in text:
        digit = ALPHABET.find(character)
        length += 1
        if digit < 0 or length > LONGEST:
            raise Unreadable(text)
        if digit < ENDING:
            yield digit if length == 1 else ENDING + high * ENDING + digit
            high = length = 0
        else:
            high = high * CONTINUING + digit - ENDING
    if length:
        raise Unreadable(text)


def _facts(metadata: str) -> dict[str, str]:
    version, *fields = metadata.split("::")
    facts = dict(field.split("=", 1) for field in fields if "=" in field)
    known = version == VERSION and facts.get("ve", ENCODING) == ENCODING
    if not known or not all(WHOLE.fullmatch(facts.get(name, "")) for name in ("cc", "nn", "bn")):
        raise Unreadable(metadata)
    return facts


def _places(zone: Zone, count: int) -> Iterator[int]:
    vector = next((each.value for each in zone.attributes if each.name == VECTOR), "")
    place = 0
    for step in numbers(vector.removeprefix(VERSION)):
        place += step
        if place >= count:
            raise Unreadable(vector)
        yield place


def _known_id(zone: Zone) -> int:
    number = zone_id(zone)
    if number is None:
        raise Unreadable(zone.name)
    return number
