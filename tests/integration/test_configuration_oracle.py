"""Our reading of configuration files against that of the real kube-scheduler: same verdict, same words, same result."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kit.arguments import ODD
from kit.configuration import HEAD, JSON_HEAD, ask, ask_for_all, catalogue, ours, write
from kit.tiers import tiered
from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.defaults import DEFAULT_PLUGINS

NAMES = [plugin.name for plugin in DEFAULT_PLUGINS]


def profile(text: str) -> str:
    return f"{HEAD}profiles: [{{{text}}}]\n"


def plugins(text: str) -> str:
    return profile(f"plugins: {{{text}}}")


def extender(text: str) -> str:
    return f"{HEAD}extenders: [{{urlPrefix: 'http://e', {text}}}]\n"


ACCEPTED = [
    pytest.param(HEAD, id="nothing but its kind"),
    pytest.param(f"{HEAD}parallelism: 1.0\npodMaxBackoffSeconds: 1e1\n", id="whole numbers written as fractions"),
    pytest.param(f"{HEAD}parallelism: 014\npercentageOfNodesToScore: 0x1F\n", id="octal and hexadecimal numbers"),
    pytest.param(f"{HEAD}parallelism: 1_6\nenableProfiling: off\n", id="underscores and the words of YAML 1.1"),
    pytest.param(
        f"{HEAD}enableProfiling: false\nenableContentionProfiling: y\n", id="one kind of profiling without other"
    ),
    pytest.param(f"{HEAD}parallelism: null\nprofiles: null\nleaderElection: ~\n", id="null is absent"),
    pytest.param(f"{HEAD}profiles: [null]\n", id="a profile that is null"),
    pytest.param(
        f"{HEAD}leaderElection: {{leaseDuration: 0s, renewDeadline: 9500ms}}\n", id="a duration of zero is absent"
    ),
    pytest.param(f"{HEAD}leaderElection: {{leaseDuration: 1h30m, retryPeriod: 1.5s}}\n", id="durations in two units"),
    pytest.param(
        f"{HEAD}leaderElection: {{leaderElect: no, leaseDuration: -1s, resourceLock: endpoints}}\n",
        id="an election that does not take place has no rules",
    ),
    pytest.param(
        f"{HEAD}clientConnection: {{qps: 0.5, burst: 7, contentType: '', CLIENT}}\n", id="limits of the client"
    ),
    pytest.param(f"{HEAD}clientConnection: {{qps: -1, CLIENT}}\n", id="no limit of the client"),
    pytest.param(f"{HEAD}delayCacheUntilActive: true\npodInitialBackoffSeconds: 10\n", id="flags and times"),
    pytest.param(profile("schedulerName: 1:30, percentageOfNodesToScore: 0"), id="a time is a word, and zero is said"),
    pytest.param(profile("schedulerName: 2001-01-01"), id="a date is a word"),
    pytest.param(
        f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b, percentageOfNodesToScore: 50}}]\n",
        id="two profiles",
    ),
    pytest.param(plugins("score: {enabled: [{name: NodeAffinity}, {name: ImageLocality, weight: 9}]}"), id="weights"),
    pytest.param(
        plugins("multiPoint: {enabled: [{name: ImageLocality, weight: 9}, {name: NodeName}]}"),
        id="defaults named again stay in their places",
    ),
    pytest.param(
        plugins("multiPoint: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}"),
        id="disabled and enabled goes to the end",
    ),
    pytest.param(
        plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}"),
        id="the smallest set of plugins",
    ),
    pytest.param(
        plugins("filter: {disabled: [{name: '*', weight: 3}], enabled: [{name: NodePorts}, {name: NodeName}]}"),
        id="one point without its defaults",
    ),
    pytest.param(plugins("filter: {disabled: [{name: Nobody}]}, score: null"), id="disabling what is not there"),
    pytest.param(
        plugins(
            "multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}, "
            "score: {enabled: [{name: NodeAffinity, weight: -3}]}"
        ),
        id="a negative weight with nothing after it",
    ),
    pytest.param(
        profile("pluginConfig: [{name: Nobody, args: [1]}, {name: NodeName, args: {b: 1, a: x}}, {name: NodePorts}]"),
        id="arguments of whom does not read them",
    ),
    pytest.param(
        profile("pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 5}}, {name: NodeAffinity}]"),
        id="arguments with and without values",
    ),
    pytest.param(
        profile("pluginConfig: [{name: NodeAffinity, args: {kind: NodeAffinityArgs}}]"),
        id="arguments that tell their kind",
    ),
    pytest.param(
        plugins("placementScore: {enabled: [{name: NodeResourcesFit, weight: -3}]}, score: {disabled: [{name: '*'}]}"),
        id="a negative weight of no consequence",
    ),
    pytest.param(extender("filterVerb: f, prioritizeVerb: p, weight: 5, httpTimeout: 100ms"), id="an extender"),
    pytest.param(extender("bindVerb: b, enableHTTPS: true, tlsConfig: {serverName: s, insecure: true}"), id="a binder"),
    pytest.param(
        extender("ignorable: true, nodeCacheCapable: true, managedResources: [{name: example.com/a}]"),
        id="an extender with a resource of its own",
    ),
    pytest.param(
        extender(
            "managedResources: [{name: a.io/x, ignoredByScheduler: true}, {name: b.io/x, ignoredByScheduler: true}]"
        ),
        id="resources that the scheduler ignores",
    ),
    pytest.param(f"--- # one\n{HEAD}CLIENTCONNECTION---\nfoo: 1\n", id="only the first document counts"),
    pytest.param(f"{HEAD}CLIENTCONNECTION...\n%%% [\n", id="whatever comes after the first document"),
    pytest.param(
        f'{JSON_HEAD}, "parallelism": 3,\n\t"clientConnection": {{JSONCLIENT}}}}\n',
        id="JSON with tabs",
    ),
]


@pytest.mark.parametrize("body", ACCEPTED)
def test_what_the_real_one_accepts_means_the_same_to_us(body: str, tmp_path: Path) -> None:
    write(tmp_path, body.replace("CLIENTCONNECTION", "clientConnection: {CLIENT}\n"))
    real = ask_for_all(tmp_path)
    assert real.complaint is None
    assert ours(tmp_path) == real


ELECTION = f"{HEAD}leaderElection: "

REFUSED = [
    pytest.param(f"{HEAD}parallelism: 0\n", id="no parallelism"),
    pytest.param(f"{HEAD}percentageOfNodesToScore: 101\n", id="more than all nodes"),
    pytest.param(f"{HEAD}podInitialBackoffSeconds: 0\n", id="no backoff"),
    pytest.param(f"{HEAD}podMaxBackoffSeconds: 0\n", id="a longest backoff below the first"),
    pytest.param(f"{HEAD}parallelism: -1\npodMaxBackoffSeconds: -1\n", id="two faults in one message"),
    pytest.param(f"{HEAD}clientConnection: {{burst: -1, CLIENT}}\n", id="a negative burst"),
    pytest.param(f"{ELECTION}{{leaseDuration: 10s}}\n", id="a lease no longer than its deadline"),
    pytest.param(f"{ELECTION}{{leaseDuration: -1.5s, renewDeadline: -1m, retryPeriod: -1ns}}\n", id="negative times"),
    pytest.param(f"{ELECTION}{{resourceLock: endpoints}}\n", id="a lock that is no lease"),
    pytest.param(f"{ELECTION}{{resourceLock: ' leases'}}\n", id="a lock that is nearly a lease"),
    pytest.param(profile("schedulerName: ''"), id="an empty name"),
    pytest.param(f"{HEAD}profiles: [{{schedulerName: a}}, {{}}]\n", id="a second profile without name"),
    pytest.param(
        f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: a}}, {{schedulerName: a}}]\n", id="a name thrice"
    ),
    pytest.param(profile("percentageOfNodesToScore: -1"), id="less than no nodes in a profile"),
    pytest.param(plugins("filter: {enabled: [{name: NodeName}, {name: EBSLimits}]}"), id="a removed plugin"),
    pytest.param(plugins("multiPoint: {enabled: [{name: EBSLimits}]}"), id="a removed plugin at all points"),
    pytest.param(plugins("placementScore: {enabled: [{name: GCEPDLimits}]}"), id="a removed plugin at a new point"),
    pytest.param(profile("pluginConfig: [{name: CinderLimits}]"), id="arguments of a removed plugin"),
    pytest.param(profile("pluginConfig: [{name: NodeName}, {name: NodeName, args: {a: 1}}]"), id="arguments twice"),
    pytest.param(
        f"{HEAD}profiles: [{{schedulerName: a}}, "
        "{schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}], disabled: [{name: '*'}]}}}]\n",
        id="a queue said in one profile only",
    ),
    pytest.param(
        plugins("queueSort: {enabled: [{name: PrioritySort}, {name: NodeName, weight: 2}]}"),
        id="two queues in one profile",
    ),
    pytest.param(
        f"{HEAD}profiles: [{{schedulerName: a, plugins: {{queueSort: {{enabled: [{{name: PrioritySort}}]}}}}}}, "
        "{schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}, "
        "pluginConfig: [{name: PrioritySort, args: {y: 1, x: '<&>'}}]}]\n",
        id="arguments of the queue in one profile only",
    ),
    pytest.param(
        f"{HEAD}profiles: [{{schedulerName: a, pluginConfig: [{{name: PrioritySort, args: {{x: 1}}}}]}}, "
        "{schedulerName: b}]\n",
        id="arguments of the queue in the first profile only",
    ),
    pytest.param(extender("prioritizeVerb: p"), id="an extender that scores and weighs nothing"),
    pytest.param(
        f"{HEAD}extenders: [{{bindVerb: a}}, {{bindVerb: b}}, {{bindVerb: c}}]\n", id="three extenders that bind"
    ),
    pytest.param(
        extender(
            "managedResources: [{name: a/b/c}, {name: cpu}, {name: kubernetes.io/x}, {name: Ex.com/_}, {name: ''}, "
            "{name: /x}, {name: requests.x/y}, {name: x.io/}, {name: a.io/b}, {name: a.io/b}, "
            f"{{name: {'n' * 64}}}, {{name: {'p' * 254}/x}}, {{name: {'.'.join(['q' * 60] * 4)}.io/x}}]"
        ),
        id="every wrong name of a resource",
    ),
    pytest.param(
        extender("managedResources: [{name: x.io/a, ignoredByScheduler: true}]")
        + "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]\n",
        id="ignored resources without the plugin that would ignore them",
    ),
    pytest.param(extender("tlsConfig: {insecure: true, caFile: /ca}"), id="authorities for a connection without check"),
    pytest.param(plugins("filter: {enabled: [{name: Nobody}]}"), id="an unknown plugin"),
    pytest.param(plugins("multiPoint: {enabled: [{name: Nobody}]}"), id="an unknown plugin at all points"),
    pytest.param(
        plugins("multiPoint: {enabled: [{name: Nobody}]}, preFilter: {disabled: [{name: '*'}]}"),
        id="an unknown plugin is found at the first point that is expanded",
    ),
    pytest.param(plugins("filter: {enabled: [null]}"), id="a plugin without name"),
    pytest.param(plugins("bind: {enabled: [{name: NodeName}]}"), id="a plugin at a point that it does not know"),
    pytest.param(plugins("podGroupPostFilter: {enabled: [{name: NodeName}]}"), id="a point with a long name"),
    pytest.param(plugins("score: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}"), id="a plugin twice"),
    pytest.param(
        plugins("multiPoint: {enabled: [{name: NodeAffinity}, {name: NodeAffinity}]}"),
        id="a plugin twice at all points",
    ),
    pytest.param(plugins("multiPoint: {disabled: [{name: '*'}]}"), id="no plugins at all"),
    pytest.param(plugins("multiPoint: {disabled: [{name: DefaultBinder}]}"), id="nobody who binds"),
    pytest.param(plugins("queueSort: {disabled: [{name: '*'}]}"), id="nobody who sorts"),
    pytest.param(plugins("score: {enabled: [{name: NodeAffinity, weight: -3}]}"), id="a negative weight before others"),
    pytest.param(
        plugins(
            "multiPoint: {disabled: [{name: DefaultPreemption}]}, "
            "podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}"
        ),
        id="a plugin whose arguments the real one forgets",
    ),
    pytest.param(
        f"{HEAD}profiles: [{{schedulerName: a, plugins: {{filter: {{enabled: [{{name: Nobody}}]}}}}}}, "
        "{schedulerName: b, plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}, "
        "podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}}}]\n",
        id="one fault in each of two profiles",
    ),
    pytest.param(
        f"{HEAD}foo: 1\nParallelism: 3\nprofiles: [{{x: 1, plugins: {{y: 1, filter: {{z: 1}}}}}}]\n", id="unknown"
    ),
    pytest.param(f"{HEAD}yes: 1\n1: 2\n1.5: 3\n", id="unknown fields that are no words"),
    pytest.param(f"{HEAD}foo: null\nprofiles: [{{x: ~}}]\n", id="unknown fields that hold nothing"),
    pytest.param(
        f"{HEAD}profiles: [{', '.join(f'{{schedulerName: p{i}, x: {i}}}' for i in range(12))}]\n",
        id="unknown fields in a long list",
    ),
    pytest.param(
        f'{JSON_HEAD}, "z": 1, "clientConnection": {{"b": 1, "a": 1, JSONCLIENT}}, "a": 1}}\n',
        id="unknown fields of JSON in the order in which they are written",
    ),
    pytest.param(f"{HEAD}{ODD}: 1\n", id="an unknown field with odd characters"),
    pytest.param(
        extender(f"managedResources: [{{name: {ODD}}}, {{name: {ODD}}}]"), id="a resource with odd characters"
    ),
    pytest.param(f"{ELECTION}{{resourceLock: {ODD}}}\n", id="a lock with odd characters"),
    pytest.param(
        profile(f"schedulerName: {ODD}, plugins: {{bind: {{disabled: [{{name: '*'}}]}}}}"),
        id="a profile with odd characters",
    ),
    pytest.param(plugins(f"filter: {{enabled: [{{name: {ODD}}}]}}"), id="a plugin with odd characters"),
    pytest.param(f"apiVersion: {ODD}\nkind: {ODD}\n", id="a kind with odd characters"),
    pytest.param(
        profile("pluginConfig: [{name: NodeAffinity, args: {kind: InterPodAffinityArgs}}]"),
        id="arguments of another plugin",
    ),
    pytest.param(
        profile("pluginConfig: [{name: NodeAffinity, args: {kind: Nothing}}]"), id="arguments of an unknown kind"
    ),
    pytest.param(
        profile("pluginConfig: [{name: NodeAffinity, args: {apiVersion: v1}}]"), id="arguments of an unknown version"
    ),
    pytest.param(
        profile("pluginConfig: [{name: NodeAffinity, args: {kind: NodeNameArgs}}]"),
        id="arguments of a plugin that has none",
    ),
    pytest.param(HEAD.replace("v1", "v1beta3"), id="an older version"),
]


@pytest.mark.parametrize("body", REFUSED)
def test_what_the_real_one_refuses_we_refuse_in_the_same_words(body: str, tmp_path: Path) -> None:
    write(tmp_path, body)
    real = ask_for_all(tmp_path)
    assert real.complaint is not None
    assert ours(tmp_path) == real


# The real one tells of Go's types here, or prints the file.
UNREADABLE = [
    pytest.param("", id="an empty file"),
    pytest.param("{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}", id="YAML in braces"),
    pytest.param(f'{JSON_HEAD}, "parallelism": 1.0}}', id="a whole number that JSON writes as a fraction"),
    pytest.param(f'{JSON_HEAD}, "parallelism": 1, "parallelism": 1}}', id="a field twice in JSON"),
    pytest.param(f"{JSON_HEAD}}} {{}}", id="more than one JSON text"),
    pytest.param("[]\n", id="a list"),
    pytest.param("kind: KubeSchedulerConfiguration\n", id="no version"),
    pytest.param("apiVersion: kubescheduler.config.k8s.io/v1\n", id="no kind"),
    pytest.param(HEAD.replace("KubeSchedulerConfiguration", "NodeAffinityArgs"), id="another kind"),
    pytest.param(f"{HEAD}parallelism: 3\nparallelism: 3\n", id="a field twice"),
    pytest.param(f"{HEAD}parallelism: '16'\n", id="a number in quotes"),
    pytest.param(f"{HEAD}parallelism: 1.5\n", id="a broken number"),
    pytest.param(f"{HEAD}parallelism: 2147483648\n", id="a number too large"),
    pytest.param(f"{HEAD}parallelism: yes\n", id="a boolean for a number"),
    pytest.param(f"{HEAD}enableProfiling: 'true'\n", id="a word for a boolean"),
    pytest.param(f"{HEAD}enableProfiling: 1\n", id="a number for a boolean"),
    pytest.param(profile("schedulerName: no"), id="a name that YAML takes for false"),
    pytest.param(profile("schedulerName: n"), id="a letter that YAML takes for false"),
    pytest.param(profile("schedulerName: 014"), id="a name that YAML takes for a number"),
    pytest.param(f"{ELECTION}{{leaseDuration: 15}}\n", id="a duration without unit"),
    pytest.param(f"{ELECTION}{{leaseDuration: null}}\n", id="a duration that is null"),
    pytest.param(f"{ELECTION}{{leaseDuration: 1 s}}\n", id="a duration with a space"),
    pytest.param(f"{ELECTION}{{leaseDuration: 9999999h}}\n", id="a duration too long"),
    pytest.param(f"{HEAD}profiles: {{}}\n", id="a map for a list"),
    pytest.param(f"{HEAD}leaderElection: []\n", id="a list for a map"),
    pytest.param(f"{HEAD}clientConnection: {{qps: .inf, CLIENT}}\n", id="infinity"),
    pytest.param(f"{HEAD}clientConnection: {{qps: 1e39, CLIENT}}\n", id="more than single precision holds"),
    pytest.param(extender("tlsConfig: {caData: '%'}"), id="data that is no base64"),
    pytest.param(profile("pluginConfig: [{name: NodeAffinity, args: [1]}]"), id="a list for arguments"),
    pytest.param(f"{HEAD}? [a]\n: 1\n", id="a list for a key"),
    pytest.param(f"{HEAD}null: 1\n", id="null for a key"),
    pytest.param(f"{HEAD}profiles:\n\t- schedulerName: a\n", id="a tab"),
    pytest.param(f"{HEAD}profiles: [\n", id="a list without end"),
    pytest.param(f"{HEAD}x: \x00\n", id="a character that is none"),
    pytest.param(f"{HEAD}x: {'[' * 20_000}\n", id="a tower of lists"),
]


@pytest.mark.parametrize("body", UNREADABLE)
def test_what_the_real_one_cannot_read_we_cannot_either(body: str, tmp_path: Path) -> None:
    write(tmp_path, body)
    assert ask_for_all(tmp_path).complaint is not None
    assert ours(tmp_path).complaint is not None


def test_a_deadline_too_short_for_its_retries_is_found_when_the_real_one_runs(tmp_path: Path) -> None:
    # Without a cache to fill first, it comes to its election at once.
    write(tmp_path, f"{ELECTION}{{renewDeadline: 2400ms}}\ndelayCacheUntilActive: true\n")
    real = ask(tmp_path)
    assert real.complaint is not None
    assert ours(tmp_path) == real


def test_a_file_that_is_not_there_is_refused_in_the_same_words(tmp_path: Path) -> None:
    real = ask(tmp_path)
    assert real.complaint is not None
    assert ours(tmp_path) == real


DEVIATIONS = [
    pytest.param(f"{HEAD}parallelism: &some 3\npercentageOfNodesToScore: *some\n", id="anchors and aliases"),
    pytest.param(f"{HEAD}leaderElection: {{<<: {{leaderElect: true}}}}\n", id="merge keys"),
    pytest.param(profile("schedulerName: !mine a"), id="tags of one's own"),
    pytest.param(
        profile(f"pluginConfig: [{{name: Nobody, args: {'[' * 200}{']' * 200}}}]"),
        id="nesting that no configuration has",
    ),
    pytest.param(f"{HEAD}#{'x' * (1 << 20)}\n", id="more than a mebibyte"),
]


@pytest.mark.parametrize("body", DEVIATIONS)
def test_for_safety_we_refuse_what_the_real_one_accepts(body: str, tmp_path: Path) -> None:
    write(tmp_path, body)
    assert ask_for_all(tmp_path).complaint is None
    assert ours(tmp_path).complaint is not None


GENERATED = 60


@pytest.mark.parametrize(
    "seed", tiered(range(GENERATED), full=range(15, GENERATED)), ids="generated plugin sets, seed {}".format
)
def test_any_plugin_sets_give_the_same_plugins_or_the_same_words(seed: int, tmp_path: Path) -> None:
    sets = json.dumps(random_sets(Random(seed)))
    write(tmp_path, f"{HEAD}profiles: [{{plugins: {sets}}}]\n")
    assert ours(tmp_path) == ask_for_all(tmp_path)


def random_sets(random: Random) -> dict[str, Any]:
    """Plugin sets of which about half can run: mostly plugins at points that they know, rarely one twice."""
    sets = {"multiPoint": random_set(random, NAMES)}
    for point in random.sample([*ExtensionPoint], 3):
        able = [name for name in NAMES if point in catalogue().points(name)]
        if point == ExtensionPoint.POD_GROUP_POST_FILTER:
            # Two plugins without arguments fail in an order that the real one draws by lot.
            able = able[:1]
        anybody = NAMES if random.random() < 0.05 else able
        sets[point.value] = random_set(random, anybody)
    return sets


def random_set(random: Random, names: list[str]) -> dict[str, Any]:
    enabled = random.sample(names, min(len(names), random.randrange(4)))
    enabled += enabled[: random.random() < 0.05]
    disabled = random.sample([*names, "Nobody"], min(len(names), random.randrange(3)))
    disabled += ["*"][: random.random() < 0.1]
    weighed = [{"name": name, "weight": random.choice([0, 1, 5])} for name in enabled]
    return {
        "enabled": [entry if entry["weight"] else {"name": entry["name"]} for entry in weighed],
        "disabled": [{"name": name} for name in disabled],
    }
