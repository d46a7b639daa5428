"""Bills of materials in the words of CycloneDX 1.6, the same for the same input."""

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from supply.image_contents import Contents
from supply.licences import table
from supply.lock import OURS, Lock, Package

Document = dict[str, Any]

OUR_LICENCE = "Apache-2.0"


def of_wheel(lock: Lock, name: str) -> Document:
    """Return what a package of ours needs, on any platform, as the lock pins it."""
    needed = lock.needed_by(name)
    (own,) = lock.named(name)
    others = [package for package in needed if package.name != name]
    component = {**_component(own.name, own.version, own.purl, OUR_LICENCE), "type": "application"}
    needs = [
        {"ref": package.purl, "dependsOn": sorted(each.purl for need in package.needs for each in lock.named(need))}
        for package in needed
    ]
    return _document(component, [_locked(package) for package in others], needs)


def of_image(name: str, contents: Contents) -> Document:
    """Return what an image holds."""
    version = contents.labels.get("org.opencontainers.image.version", "")
    purl = f"pkg:oci/{name}@{contents.identity.replace(':', '%3A')}"
    component = {**_component(name, version, purl, OUR_LICENCE), "type": "container"}
    known = {**table(), **dict.fromkeys(OURS, OUR_LICENCE)}
    components = []
    for each in contents.packages:
        expression = known.get(each.name, "") if each.purl.startswith("pkg:pypi/") else ""
        made = _component(each.name, each.version, each.purl, expression)
        if not expression and each.licences:
            made["licenses"] = [{"license": {"name": licence}} for licence in each.licences]
        components.append(made)
    return _document(
        component, components, [{"ref": purl, "dependsOn": sorted(each["bom-ref"] for each in components)}]
    )


def text(document: Document) -> str:
    """Return a bill as it is written to a file."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _document(component: Document, components: Iterable[Document], needs: Iterable[Document]) -> Document:
    body = {
        "metadata": {
            "component": component,
            "tools": {"components": [{"type": "application", "name": "pilotage-supply"}]},
        },
        "components": sorted(components, key=lambda each: each["bom-ref"]),
        "dependencies": sorted(needs, key=lambda each: each["ref"]),
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    head = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
    }
    return {**head, "serialNumber": f"urn:uuid:{serial}", "version": 1, **body}


def _component(name: str, version: str, purl: str, expression: str) -> Document:
    made: Document = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if expression:
        made["licenses"] = [{"expression": expression}]
    return made


def _locked(package: Package) -> Document:
    made = _component(package.name, package.version, package.purl, table().get(package.name, ""))
    if package.files:
        made["externalReferences"] = [_reference(*file) for file in package.files]
    return made


def _reference(url: str, digest: str) -> Mapping[str, Any]:
    algorithm, _, content = digest.partition(":")
    names = {"sha256": "SHA-256", "sha512": "SHA-512"}
    return {"type": "distribution", "url": url, "hashes": [{"alg": names[algorithm], "content": content}]}
