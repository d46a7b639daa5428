"""The pins: every tool has a module with one version, and the version reaches the program."""

import pytest

from localcluster import build
from localcluster.binaries import DEFAULT_KUBERNETES, TOOLS, Tool, kubernetes, kubernetes_versions
from localcluster.errors import Problem

EVERY_TOOL = [*TOOLS.values(), *(kubernetes(version) for version in kubernetes_versions())]


@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.folder.name)
def test_each_tool_is_pinned_with_checksums(tool: Tool) -> None:
    assert tool.version.startswith("v")
    assert (tool.version == "v0") == (not tool.module), "only our own source has no version"
    if tool.module:
        assert f"{tool.module} {tool.version} h1:" in (tool.folder / "go.sum").read_text()


@pytest.mark.parametrize("version", ["1.37.1", "1.36.4", "1.35.4"])
def test_kubernetes_reports_its_version(version: str) -> None:
    tool = kubernetes(version)
    minor = version.split(".")[1]
    assert f"gitVersion=v{version}" in tool.linker_flags
    assert f"gitMinor={minor}" in tool.linker_flags
    assert f"k8s.io/api => k8s.io/api v0.{minor}." in tool.go_mod.read_text()


def test_the_default_version_is_pinned() -> None:
    assert kubernetes_versions() == ["1.35.4", "1.36.4", DEFAULT_KUBERNETES]


@pytest.mark.parametrize("version", ["1.99.0", "latest", "", "../etcd"])
def test_an_unknown_version_names_the_known_ones(version: str) -> None:
    with pytest.raises(Problem, match=r"not pinned here: choose one of 1\.35\.4, 1\.36\.4, 1\.37\.1"):
        kubernetes(version)


def test_the_cache_key_changes_with_what_is_built() -> None:
    keys = [build._key(tool) for tool in EVERY_TOOL]
    assert len(set(keys)) == len(keys)
    assert all(key.startswith(f"{tool.name}-{tool.version}-") for key, tool in zip(keys, EVERY_TOOL, strict=True))


def test_devices_are_asked_of_the_kubernetes_that_we_follow() -> None:
    assert TOOLS["dra"].version == "v0." + DEFAULT_KUBERNETES.removeprefix("1.")
