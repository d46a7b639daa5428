"""SchedulerProfiles in the place of a configuration."""

import os
import threading
from pathlib import Path

import pytest

from pilotage.app import configured
from pilotage.app.profile_files import UnusableProfiles, read_source
from pilotage.config.faults import InvalidConfiguration

PROFILE = "apiVersion: pilotage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: NAME}\nspec: {EXTRA}\n"
CONFIGURATION = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def profile(name: str, extra: str = "") -> str:
    return PROFILE.replace("NAME", name).replace("EXTRA", extra)


def served(source: Path | str) -> list[str]:
    return [each.scheduler_name for each in configured(source).loaded.config.profiles]


def test_profiles_of_a_text_and_of_a_file(tmp_path: Path) -> None:
    text = "---\n".join([profile("b"), profile("a", "schedulerName: team-a")])
    (tmp_path / "profiles.yaml").write_text(text)
    assert served(text) == served(tmp_path / "profiles.yaml") == ["b", "team-a"]


def test_extenders_of_two_profiles_are_one_list() -> None:
    extender = "extenders: [{urlPrefix: http://x, filterVerb: f}]"
    ready = configured("---\n".join([profile("a", extender), profile("b", extender)]))
    assert [each.url_prefix for each in ready.loaded.config.extenders] == ["http://x"]


def test_a_configuration_that_only_mentions_them() -> None:
    assert served(f"# made from a SchedulerProfile\n{CONFIGURATION}") == ["default-scheduler"]


@pytest.mark.parametrize("text", [profile("a"), CONFIGURATION], ids=["profiles", "a configuration"])
def test_a_pipe_can_be_read_once(text: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert served(pipe) == (["a"] if "Profile\n" in text else ["default-scheduler"])
    writer.join()


def test_what_is_wrong_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text("---\n".join([profile("a"), profile("b", "plugins: [{name: Nobody}, {name: Noone}]")]))
    with pytest.raises(UnusableProfiles) as error:
        configured(file)
    assert str(error.value).splitlines() == [
        f"{file}, document 2 (SchedulerProfile b): spec.plugins[name={name}]: unknown plugin"
        for name in ("Nobody", "Noone")
    ]


@pytest.mark.parametrize(
    "content",
    [b"kind: SchedulerProfile\na: [", b"\xff\xfeSchedulerProfile", b"kind: SchedulerProfile\napiVersion: other/v1\n"],
    ids=["no YAML", "no text", "a kind of somebody else"],
)
def test_what_is_something_else_is_told_by_whoever_loads_it(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_bytes(content)
    assert read_source(file).profiles == []
    with pytest.raises(InvalidConfiguration, match=r"file\.yaml"):
        configured(file)
