"""`pilotage check`: what the operator would say to profiles, without a cluster."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

Pilotage = Callable[..., Result]
Write = Callable[..., str]

EXAMPLES = Path(__file__).parents[3] / "examples"
TLS = {"urlPrefix": "https://x", "filterVerb": "f"}


def profile(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "pilotage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def entry(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def test_profiles_that_can_run(pilotage: Pilotage) -> None:
    result = pilotage("check", "-f", EXAMPLES / "profiles")
    names = sorted(path.stem for path in (EXAMPLES / "profiles").glob("*.yaml"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [f"{name}: it can run" for name in names]


def test_everything_that_is_wrong_with_one(pilotage: Pilotage, write: Write) -> None:
    bad = profile(
        "bad", plugins=[entry("NodeNmae"), entry("ImageLocality", weight=-1), entry("Priority", args={"x": 1})]
    )
    result = pilotage("check", "-f", write(bad, profile("good")))
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "bad: spec.plugins[name=ImageLocality].weight: input should be greater than or equal to 1, not -1",
        "bad: spec.plugins[name=NodeNmae]: unknown plugin; did you mean 'NodeName'?",
        'bad: spec.plugins[name=Priority].args: unknown field "x"',
        "good: it can run",
    ]


@pytest.mark.parametrize(
    ("others", "told"),
    [
        pytest.param(
            [profile("b", schedulerName="a")],
            "b: spec.schedulerName: a is used by the older profile a; choose another name, or delete that profile",
            id="one schedulerName",
        ),
        pytest.param(
            [profile("b", plugins=[entry("QOSSort")])],
            "b: spec.plugins: QOSSort sorts the queue here, and the other profiles sort it with PrioritySort; "
            "all profiles share one queue: sort as the others do, or change all profiles, the oldest last",
            id="two orders of one queue",
        ),
        pytest.param(
            [profile("a")],
            "a: metadata.name: several profiles have this name, and only the last one would be kept",
            id="one name",
        ),
        pytest.param([profile("b", instance="x", schedulerName="a")], "", id="nothing, if another release serves it"),
    ],
)
def test_profiles_beside_each_other(others: list[dict[str, Any]], told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check", write(profile("a"), name="a.yaml"), write(*others, name="b.yaml"))
    assert result.exit_code == (1 if told else 0)
    assert told in result.stdout


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"extenders": [{"urlPrefix": "http://x"}]}, "spec.extenders[0]: an extender without a verb is never called"),
        ({"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p"}]}, "scores need a weight"),
        ({"extenders": [{"urlPrefix": "http://x", "filterVerb": "f", "enableHTTPS": True}]}, "TLS requires https"),
        ({"extenders": [{**TLS, "tlsConfig": {"insecure": True, "caFile": "/ca"}}]}, "a CA has no effect"),
        ({"extenders": [{**TLS, "tlsConfig": {"certFile": "/c"}}]}, "a certificate needs its key"),
        ({"extenders": [{"urlPrefix": f"http://{x}", "bindVerb": "b"} for x in "xy"]}, "only one extender can bind"),
        (
            {"plugins": [entry("Priority", weight=2, points=["filter"])]},
            "spec.plugins[0]: a weight has an effect only at score",
        ),
        ({"plugins": [entry("*")]}, "set base: None"),
        (
            {"plugins": [entry(name, points=["queueSort"]) for name in ("QOSSort", "TopologicalSort")]},
            "only one plugin can sort the queue",
        ),
        ({"rollout": {"strategy": "Restart", "progressDeadlineSeconds": 10}}, "spec.rollout: a restart takes longer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_an_api_server_refuses(spec: dict[str, Any], told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check", "-f", write(profile("p", **spec)))
    assert result.exit_code == 1
    assert told in result.stdout


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"apiVersion": "pilotage.dev/v1"}, "apiVersion: SchedulerProfile is in pilotage.dev/v1alpha1"),
        ({"metadata": {}}, "document 1: metadata.name: it is missing"),
        ({"metadata": {"name": "My Profile"}}, "metadata.name: lower case letters and digits"),
        ({"metadata": {"name": "p" * 64}}, "metadata.name: a scheduler's name has at most 63 characters"),
    ],
    ids=["another version", "no name", "a name that no object has", "a name that no scheduler has"],
)
def test_what_is_wrong_around_the_spec(change: dict[str, Any], told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check", "-f", write({**profile("p"), **change}))
    assert result.exit_code == 1
    assert told in result.stdout


def test_a_plugin_of_ones_own(pilotage: Pilotage, write: Write) -> None:
    file = write(profile("p", plugins=[entry("NameScore")]))
    assert pilotage("check", "-f", file).exit_code == 1
    assert pilotage("check", "-f", file, "--plugin-dir", EXAMPLES / "plugins").exit_code == 0


def test_one_that_no_profile_names_takes_no_part(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check", "-f", write(profile("p")), "--plugin-dir", EXAMPLES / "plugins", "-o", "json")
    assert "NameScore" not in json.loads(result.stdout)[0]["plugins"]["score"]


def test_data_for_programs(pilotage: Pilotage, write: Write) -> None:
    file = write(profile("good", schedulerName="g"), profile("bad", plugins=[entry("Nobody")]))
    result = pilotage("check", "-f", file, "-o", "json")
    good, bad = json.loads(result.stdout)
    assert (good["name"], good["schedulerName"], good["accepted"], good["complaints"]) == ("good", "g", True, [])
    assert good["plugins"]["queueSort"] == ["PrioritySort"]
    assert bad["place"] == f"{file}, document 2"
    assert bad["complaints"] == [{"reason": "UnknownPlugin", "message": "spec.plugins[name=Nobody]: unknown plugin"}]
    assert yaml.safe_load(pilotage("check", "-f", file, "-o", "yaml").stdout) == [good, bad]


def test_profiles_among_other_manifests(pilotage: Pilotage, write: Write) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    listed = {"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfileList", "items": [profile("p")]}
    result = pilotage("check", "-f", "-", stdin=yaml.safe_dump_all([pod, listed]))
    assert (result.exit_code, result.stdout) == (0, "p: it can run\n")
    assert result.stderr == "note: 1 object of other kinds was ignored\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [("kind: Pod\napiVersion: v1\n", "there is no SchedulerProfile in"), ("a: [", "document 1, line 2: ")],
    ids=["something else", "no YAML"],
)
def test_files_that_hold_no_profile(text: str, told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check", "-f", write(text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


def test_no_file_at_all(pilotage: Pilotage) -> None:
    assert pilotage("check").exit_code == 2
    assert "no such file or folder" in pilotage("check", "-f", "/nowhere").stderr


def test_the_page_shows_what_is_printed(pilotage: Pilotage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES.parent)
    page = (EXAMPLES.parent / "docs/check.md").read_text()
    for file in ("examples/profiles", "examples/check/typo.yaml"):
        result = pilotage("check", "-f", file)
        assert f"```\n$ pilotage check -f {file}\n{result.stdout}```" in page
