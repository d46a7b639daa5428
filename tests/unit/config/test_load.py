"""The way in: what is of a wrong type or unknown, what plugins say, what is allowed and hardly meant."""

from pathlib import Path

import pytest

from pilotage.config.catalogue import Catalogue
from pilotage.config.faults import InvalidConfiguration
from pilotage.config.load import effective, load

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
ONE = "profiles: [{pluginConfig: "
FILTERING = "profiles: [{plugins: {filter: {enabled: "
START = "the file begins with apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration"
BUILDING = "initializing profiles: creating profile for scheduler name default-scheduler: "


def told(text: str, in_tree: Catalogue) -> list[str]:
    with pytest.raises(InvalidConfiguration) as refused:
        load(text, in_tree)
    return [line.removeprefix("<configuration>:") for line in str(refused.value).splitlines()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("paralelism: 1", 'unknown field "paralelism"; did you mean "parallelism"?', id="a typing error"),
        pytest.param("Parallelism: 1", 'unknown field "Parallelism"; did you mean "parallelism"?', id="a capital"),
        pytest.param(
            "leader_election: {}",
            'unknown field "leader_election"; did you mean "leaderElection"?',
            id="our own spelling",
        ),
        pytest.param(
            "profiles: [{plugins: {filters: {}}}]",
            'unknown field "profiles[0].plugins.filters"; did you mean "filter"?',
            id="a typing error further down",
        ),
        pytest.param("zzz: 1", 'unknown field "zzz"', id="nothing like it"),
        pytest.param("zzz: null", 'unknown field "zzz"', id="a field that holds nothing"),
        pytest.param('"\\x7f\\"": 1', r'unknown field "\x7f\""', id="odd characters"),
        pytest.param(
            "profiles: [{schedulerName: no}]",
            "profiles[0].schedulerName: must be a string, not the boolean false; "
            'YAML takes a bare no for the boolean false; quote it: "no"',
            id="a name that YAML takes for a boolean",
        ),
        pytest.param(
            "profiles: [{schedulerName: 014}]",
            "profiles[0].schedulerName: must be a string, not the number 12; "
            'YAML takes a bare 014 for the number 12; quote it: "014"',
            id="a name that YAML takes for a number",
        ),
        pytest.param(
            "parallelism: '16'",
            'parallelism: must be a whole number of 32 bits, not the string "16"; leave out the quotes',
            id="a number in quotes",
        ),
        pytest.param(
            "parallelism: 1.5", "parallelism: must be a whole number of 32 bits, not the number 1.5", id="a fraction"
        ),
        pytest.param(
            "parallelism: 2147483648",
            "parallelism: must be a whole number of 32 bits, not the number 2147483648",
            id="too large",
        ),
        pytest.param(
            "parallelism: true", "parallelism: must be a whole number of 32 bits, not the boolean true", id="no number"
        ),
        pytest.param(
            "enableProfiling: 'yes'", 'enableProfiling: must be true or false, not the string "yes"', id="no boolean"
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 15}",
            "leaderElection.leaseDuration: must be a duration such as 15s or 1m30s, not the number 15; add a unit: 15s",
            id="a duration without unit",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: ~}",
            "leaderElection.leaseDuration: must be a duration such as 15s or 1m30s, not null",
            id="a duration that is null",
        ),
        pytest.param("profiles: {}", "profiles: must be a list, not a map {}", id="a map for a list"),
        pytest.param("leaderElection: []", "leaderElection: must be a map, not a list []", id="a list for a map"),
        pytest.param(
            "clientConnection: {qps: 1e39}",
            "clientConnection.qps: must be a number of 32 bits, not the number 1e+39",
            id="a number for which there is no room",
        ),
        pytest.param(
            "extenders: [{tlsConfig: {caData: '%'}}]",
            'extenders[0].tlsConfig.caData: must be base64 text, not the string "%"',
            id="no base64",
        ),
    ],
)
def test_types_and_fields(text: str, expected: str, in_tree: Catalogue) -> None:
    assert told(HEAD + text, in_tree) == [f"3: {expected}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", f"1: Object 'Kind' is missing; {START}", id="nothing"),
        pytest.param("# nothing\n", f"1: Object 'Kind' is missing; {START}", id="a comment"),
        pytest.param(
            "kind: KubeSchedulerConfiguration", f"1: Object 'apiVersion' is missing; {START}", id="no version"
        ),
        pytest.param("[]", f"1: couldn't get version/kind: the file is not a map; {START}", id="a list"),
        pytest.param(
            HEAD.replace("v1", "v1beta3"),
            '1: no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" '
            'in scheme "pkg/runtime/scheme.go:111"; use kubescheduler.config.k8s.io/v1; '
            "`pilotage convert FILE -o config` converts older versions",
            id="an older version",
        ),
        pytest.param(f"{HEAD}a: &a 1", "3: &a refers to another place; write the value out instead", id="an anchor"),
        pytest.param(
            f"{HEAD}kind: x", '3: key "kind" already set in map (line 2); keep one of the two', id="a key twice"
        ),
    ],
)
def test_what_is_no_configuration(text: str, expected: str, in_tree: Catalogue) -> None:
    assert told(text, in_tree) == [expected]


DECODING = "decoding .profiles[0].pluginConfig[0]: "
ARGS = f"{DECODING}decoding args for plugin Odd: "
STRICT = f"{DECODING}strict decoding error: decoding args for plugin Odd: strict decoding error: "
VERSION = 'version "kubescheduler.config.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"'


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param("{z: 1}", [f'{STRICT}unknown field "z"'], id="an unknown argument"),
        pytest.param(
            "{nummer: 1, Wrong: null}",
            [f'{STRICT}unknown field "Wrong", unknown field "nummer"; did you mean "wrong" and "number"?'],
            id="arguments that are nearly known",
        ),
        pytest.param(
            "{number: '5'}",
            [f'{ARGS}number: must be a whole number of 32 bits, not the string "5"; leave out the quotes'],
            id="an argument of a wrong type, with the fix",
        ),
        pytest.param(
            "{wrong: no}",
            [
                f"{ARGS}wrong: must be a string, not the boolean false; "
                'YAML takes a bare no for the boolean false; quote it: "no"'
            ],
            id="an argument that YAML takes for something else",
        ),
        pytest.param(
            "{late: true}",
            [f'{BUILDING}initializing plugin "Odd": late: Invalid value'],
            id="an argument that only the constructor checks",
        ),
        pytest.param(
            "{z: 1, wrong: x, late: true}",
            [
                f'{STRICT}unknown field "z"',
                'profiles[0].pluginConfig[0].args.wrong: Invalid value: "x": is wrong',
                f'{BUILDING}initializing plugin "Odd": late: Invalid value',
            ],
            id="a fault at every stage, all told at once",
        ),
        pytest.param(
            "{z: 1, wrong: 5}",
            [
                f'{ARGS}wrong: must be a string, not the number 5; YAML takes a bare 5 for the number 5; quote it: "5"',
                f'{STRICT}unknown field "z"',
            ],
            id="a wrong type and an unknown field",
        ),
        pytest.param(
            "{kind: InterPodAffinityArgs}",
            [
                f"{DECODING}args for plugin Odd were not of type OddArgs.kubescheduler.config.k8s.io, "
                "got InterPodAffinityArgs.kubescheduler.config.k8s.io"
            ],
            id="arguments of another plugin",
        ),
        pytest.param(
            "{kind: NodeNameArgs}",
            [f'{ARGS}no kind "NodeNameArgs" is registered for {VERSION}'],
            id="arguments of a plugin that has none",
        ),
        pytest.param(
            "{kind: Odd}", [f'{ARGS}no kind "Odd" is registered for {VERSION}'], id="a plugin instead of a kind"
        ),
        pytest.param("{kind: 0}", [f"{ARGS}kind must be a string"], id="a kind that is no string"),
        pytest.param("{apiVersion: []}", [f"{ARGS}apiVersion must be a string"], id="a version that is no string"),
        pytest.param(
            "{apiVersion: a/b/c}", [f"{ARGS}unexpected GroupVersion string: a/b/c"], id="a version in three parts"
        ),
        pytest.param("[1]", [f"{ARGS}they must be a map"], id="arguments that are a list"),
        pytest.param("''", [f"{ARGS}they must be a map"], id="arguments that are an empty string"),
    ],
)
def test_arguments(args: str, expected: list[str], with_odd: Catalogue) -> None:
    text = f"{HEAD}{FILTERING}[{{name: Odd}}]}}}}, pluginConfig: [{{name: Odd, args: {args}}}]}}]"
    assert told(text, with_odd) == [f"3: {line}" for line in expected]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("kind: OddArgs, apiVersion: kubescheduler.config.k8s.io/v1", id="kind and version"),
        pytest.param("kind: '', apiVersion: null", id="nothing"),
        pytest.param("apiVersion: kubescheduler.config.k8s.io/", id="a group alone"),
        pytest.param("apiVersion: /", id="neither group nor version"),
    ],
)
def test_arguments_may_tell_their_kind(kind: str, with_odd: Catalogue) -> None:
    text = f"{HEAD}{FILTERING}[{{name: Odd}}]}}}}, pluginConfig: [{{name: Odd, args: {{{kind}, number: 5}}}}]}}]"
    found = effective(load(text, with_odd).config)["profiles"][0]["pluginConfig"]
    (odd,) = [entry["args"] for entry in found if entry["name"] == "Odd"]
    assert odd == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "OddArgs",
        "number": 5,
        "wrong": "",
        "late": False,
    }


def test_a_plugin_that_needs_arguments_and_gets_none_is_refused_with_the_way_out(with_odd: Catalogue) -> None:
    text = f"{HEAD}{FILTERING}[{{name: Needy}}]}}}}}}]"
    assert told(text, with_odd) == [
        f'3: {BUILDING}initializing plugin "Needy": label: must be given; '
        "give it arguments: pluginConfig: [{name: Needy, args: {label: ...}}]"
    ]
    load(text.replace("}}}]", "}}, pluginConfig: [{name: Needy, args: {label: x}}]}]"), with_odd)


def test_a_plugin_that_kube_scheduler_would_leave_without_arguments_is_refused_with_the_way_out(
    in_tree: Catalogue,
) -> None:
    nowhere_else = "multiPoint: {disabled: [{name: DefaultPreemption}]}"
    here = "podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}"
    text = f"{HEAD}profiles: [{{plugins: {{{nowhere_else}, {here}}}}}]"
    (line,) = told(text, in_tree)
    assert "got args of type <nil>, want *DefaultPreemptionArgs; give it arguments" in line
    load(text.replace("}}}]", "}}, pluginConfig: [{name: DefaultPreemption, args: {}}]}]"), in_tree)


def test_what_a_constructor_would_say_does_not_matter_where_it_is_not_called(with_odd: Catalogue) -> None:
    load(f"{HEAD}{ONE}[{{name: Odd, args: {{late: true}}}}]}}]", with_odd)


def test_arguments_of_who_runs_are_completed_and_sorted_and_others_are_dropped(in_tree: Catalogue) -> None:
    affinity = "{name: InterPodAffinity, args: {hardPodAffinityWeight: 5}}"
    entries = f"[{{name: NodeName, args: {{a: 1}}}}, {{name: Nobody, args: 3}}, {affinity}]"
    found = effective(load(f"{HEAD}{ONE}{entries}}}]", in_tree).config)["profiles"][0]["pluginConfig"]
    by_name = {entry["name"]: entry["args"] for entry in found}
    assert list(by_name) == sorted(by_name)
    assert "Nobody" not in by_name
    assert by_name["NodeName"] == {"a": 1}
    assert by_name["InterPodAffinity"] == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "InterPodAffinityArgs",
        "hardPodAffinityWeight": 5,
        "ignorePreferredTermsOfExistingPods": False,
    }


def test_resources_that_extenders_manage_replace_the_ignored_ones(in_tree: Catalogue) -> None:
    text = (
        f"{HEAD}{ONE}[{{name: NodeResourcesFit, args: {{ignoredResources: [a.io/x]}}}}]}}]\n"
        "extenders: [{managedResources: [{name: b.io/x, ignoredByScheduler: true}, {name: c.io/x}]}]"
    )
    found = effective(load(text, in_tree).config)["profiles"][0]["pluginConfig"]
    (fit,) = [entry["args"] for entry in found if entry["name"] == "NodeResourcesFit"]
    assert fit["ignoredResources"] == ["b.io/x"]
    # Nobody looks at what was replaced.
    assert load(text.replace("a.io/x", "'!'"), in_tree).config.profiles == load(text, in_tree).config.profiles


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="nothing to say"),
        pytest.param(
            "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity}, {name: TaintToleration, weight: 1}]}}}]",
            [
                "profiles[0].plugins.score.enabled[0]: NodeAffinity has weight 1, not its default 2; "
                "set weight: 2 to keep it"
            ],
            id="a weight lost",
        ),
        pytest.param(
            "profiles: [{plugins: {filter: {disabled: [{name: NodeAfinity}, {name: '*'}]}}}]",
            [
                'profiles[0].plugins.filter.disabled[0]: "NodeAfinity" is not enabled, so nothing is disabled; '
                'did you mean "NodeAffinity"?'
            ],
            id="disabling nobody",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: Nodename, args: {}}]}]",
            [
                'profiles[0].pluginConfig[0]: "Nodename" is not enabled, so its arguments have no effect; '
                'did you mean "NodeName"?'
            ],
            id="arguments for nobody",
        ),
        pytest.param(
            "---\na: 1",
            ["only the first document of the file is used; the others are ignored"],
            id="more documents",
        ),
        pytest.param(
            "...\n%%%",
            ["only the first document of the file is used; the others are ignored"],
            id="more than documents",
        ),
    ],
)
def test_warnings(text: str, expected: list[str], in_tree: Catalogue) -> None:
    assert list(load(HEAD + text, in_tree).warnings) == expected


def test_files(tmp_path: Path, in_tree: Catalogue) -> None:
    file = tmp_path / "config.yaml"
    with pytest.raises(InvalidConfiguration, match=f"open {file}: no such file or directory"):
        load(file, in_tree)
    with pytest.raises(InvalidConfiguration, match="is a directory"):
        load(tmp_path, in_tree)
    file.write_text(f"{HEAD}parallelism: 0\n")
    with pytest.raises(InvalidConfiguration, match=f"^{file}:3: parallelism: Invalid value: 0"):
        load(file, in_tree)
    file.write_text(HEAD)
    assert load(file, in_tree).config.parallelism == 16


def test_a_file_full_of_faults_is_told_in_no_time(in_tree: Catalogue) -> None:
    fields = "".join(f"f{i}: 1\n" for i in range(5_000))
    names = ", ".join(f"{{name: p{i}}}" for i in range(5_000))
    assert (
        len(told(f"{HEAD}{fields}profiles: [{{plugins: {{multiPoint: {{enabled: [{names}]}}}}}}]", in_tree)) == 10_000
    )
