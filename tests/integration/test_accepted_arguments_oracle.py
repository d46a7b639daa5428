"""Arguments of plugins that the real kube-scheduler accepts: they mean the same to us, and so do those not given.

Asking the real one takes a while, and so cases share a file: each is a profile.
"""

from pathlib import Path

import pytest

from kit.arguments import (
    CONSTRAINT,
    PREFERRED,
    REQUIRED,
    WITH_ARGUMENTS,
    configuration,
    constraints,
    preferred,
    ratio,
    required,
    strategy,
)
from kit.configuration import HEAD, Answer, ask_for_all, catalogue, ours, write
from pilotage.config.defaults import DEFAULT_PLUGINS


@pytest.fixture(scope="module")
def defaults(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """What the real one makes of an empty configuration."""
    folder = tmp_path_factory.mktemp("defaults")
    write(folder, HEAD)
    return ask_for_all(folder)


@pytest.mark.parametrize("plugin", [plugin.name for plugin in DEFAULT_PLUGINS])
def test_a_plugin_has_the_extension_points_of_the_real_one(plugin: str, defaults: Answer) -> None:
    (real,) = defaults.plugins
    assert catalogue().points(plugin) == {point for point, running in real.items() if plugin in dict(running)}


@pytest.mark.parametrize("plugin", [plugin.name for plugin in DEFAULT_PLUGINS])
def test_a_plugin_has_the_default_arguments_of_the_real_one(plugin: str, defaults: Answer) -> None:
    args = {entry["name"]: entry["args"] for entry in defaults.effective["profiles"][0]["pluginConfig"]}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{plugin}Args"}
    read = catalogue().arguments(plugin)
    assert (None if read is None else {**kind, **read({}, ()).value}) == args.get(plugin)


GOOD = {
    "DefaultPreemption": {
        "no percentage": "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 1}",
        "no number": "{minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 0}",
        "numbers that are null": "{minCandidateNodesPercentage: null, minCandidateNodesAbsolute: ~}",
        "a whole number written as a fraction": "{minCandidateNodesPercentage: 5.0}",
    },
    "InterPodAffinity": {
        "no weight": "{hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}",
        "the highest weight": "{hardPodAffinityWeight: 100, ignorePreferredTermsOfExistingPods: no}",
        "null": "{hardPodAffinityWeight: null, ignorePreferredTermsOfExistingPods: null}",
    },
    "NodeAffinity": {
        "null": "{addedAffinity: null}",
        "an empty affinity": "{addedAffinity: {}}",
        "no selector": f"{{addedAffinity: {{{REQUIRED}: null, {PREFERRED}: null}}}}",
        "a selector without terms": f"{{addedAffinity: {{{REQUIRED}: {{}}, {PREFERRED}: []}}}}",
        "a selector whose terms are null": f"{{addedAffinity: {{{REQUIRED}: {{nodeSelectorTerms: null}}}}}}",
        "a selector whose list is empty": f"{{addedAffinity: {{{REQUIRED}: {{nodeSelectorTerms: []}}}}}}",
        "empty terms": required("null, {matchExpressions: [], matchFields: null}"),
        "every operator": required(
            "{matchExpressions: [{key: a, operator: In, values: [x, '', null]}, {key: a.io/b, operator: NotIn, "
            "values: [x]}, {key: a, operator: Exists}, {key: a, operator: DoesNotExist, values: []}, "
            "{key: a, operator: Gt, values: ['5']}, {key: a, operator: Lt, values: ['05']}], "
            "matchFields: [{key: metadata.name, operator: In, values: ['n']}, "
            "{key: '<anything>', operator: NotIn, values: ['<']}]}"
        ),
        "preferences": preferred("{weight: 5, preference: {matchExpressions: [{key: a, operator: Exists}]}}, null"),
        "a preference that weighs nothing is not looked at": preferred(
            "{weight: 0, preference: {matchExpressions: [{key: '!', operator: Never}]}}, {weight: -1}"
        ),
    },
    "NodeResourcesFit": {
        "ignored resources": "{ignoredResources: [a.io/x, cpu], ignoredResourceGroups: [a.io, b]}",
        "null": "{ignoredResources: null, ignoredResourceGroups: ~, scoringStrategy: null}",
        "empty lists": "{ignoredResources: [], ignoredResourceGroups: []}",
        "only a type": strategy("type: MostAllocated"),
        "a type and no resources": strategy("type: LeastAllocated, resources: []"),
        "resources with and without weight": strategy(
            "type: LeastAllocated, resources: [{name: cpu}, {name: cpu, weight: 100}, {weight: 0}, null, {name: null}]"
        ),
        "a shape": ratio("{shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}"),
        "a shape of one point that is null": ratio("{shape: [null]}"),
    },
    "NodeResourcesBalancedAllocation": {
        "no resources": "{resources: []}",
        "null": "{resources: null}",
        "resources": "{resources: [{name: a.io/b, weight: 1}, {name: cpu, weight: 0}, {name: <>}, null]}",
    },
    "PodTopologySpread": {
        "a list without constraints": "{defaultingType: List}",
        "an empty type": "{defaultingType: '', defaultConstraints: []}",
        "null": "{defaultingType: null, defaultConstraints: null}",
        "two constraints": constraints(
            f"{{{CONSTRAINT}}}, {{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}"
        ),
        "everything that a constraint can have": constraints(
            f"{{{CONSTRAINT}, minDomains: 3, nodeAffinityPolicy: Honor, nodeTaintsPolicy: Ignore, matchLabelKeys: [x]}}"
        ),
        "what nobody checks": constraints(
            f"{{{CONSTRAINT}, minDomains: -3, nodeAffinityPolicy: Huh, nodeTaintsPolicy: '', "
            "matchLabelKeys: ['!', null]}"
        ),
        "a constraint full of null": constraints(
            f"{{{CONSTRAINT}, minDomains: null, nodeAffinityPolicy: null, matchLabelKeys: null, labelSelector: null}}"
        ),
    },
    "VolumeBinding": {
        "no timeout": "{bindTimeoutSeconds: 0, shape: []}",
        "null": "{bindTimeoutSeconds: null, shape: null}",
        "the longest timeout": "{bindTimeoutSeconds: 9223372036854775807}",
        "a shape": "{shape: [{utilization: 0, score: 10}, {utilization: 50, score: 5}, {utilization: 51}]}",
        "a shape of one point that is null": "{shape: [null]}",
    },
    "DynamicResources": {
        "no time to filter": "{filterTimeout: 0s, bindingTimeout: 1s}",
        "null": "{filterTimeout: null, bindingTimeout: null}",
        "zero without unit": "{filterTimeout: '0'}",
        "two units": "{filterTimeout: 1m30s, bindingTimeout: 1.5h}",
    },
}


@pytest.mark.parametrize("plugin", WITH_ARGUMENTS)
def test_good_arguments_mean_the_same(plugin: str, tmp_path: Path) -> None:
    write(tmp_path, configuration(plugin, {**GOOD[plugin], "empty": "{}", "nothing": "null"}))
    real = ask_for_all(tmp_path)
    assert real.complaint is None
    assert ours(tmp_path) == real


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            f"{HEAD}profiles: [{{pluginConfig: [{{name: NodeName, args: 5}}, {{name: NodePorts, args: [1]}}, "
            "{name: ImageLocality, args: ''}, {name: TaintToleration, args: {b: {c: null}, a: 1}}, "
            "{name: VolumeZone, args: null}, {name: DefaultBinder, args: {kind: X, apiVersion: x/y/z}}, "
            "{name: PrioritySort, args: 1.5}, {name: nodeaffinity, args: {z: 1}}, {name: '', args: {}}]}]\n",
            id="arguments of whom does not read them",
        ),
        pytest.param(
            configuration(
                "NodeAffinity",
                {
                    "its own": "{apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeAffinityArgs}",
                    "empty": "{apiVersion: '', kind: ''}",
                    "null": "{apiVersion: null, kind: null}",
                    "a slash": "{apiVersion: /}",
                    "a group": "{apiVersion: kubescheduler.config.k8s.io/}",
                },
            ),
            id="arguments that tell their kind",
        ),
        pytest.param(
            f"{HEAD}extenders: [{{urlPrefix: 'http://e', managedResources: [{{name: a.io/x, "
            "ignoredByScheduler: true}]}]\n"
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: ['!']}}]}]\n",
            id="wrong resources that an extender replaces",
        ),
        pytest.param(
            f"{HEAD}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: NodeResourcesFit}}]}}}}, "
            "pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}]}]\n",
            id="wrong arguments of a plugin that is not constructed",
        ),
        pytest.param(
            f"{HEAD}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: DefaultPreemption}}]}}, "
            "podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}}, "
            "pluginConfig: [{name: DefaultPreemption}]}]\n",
            id="defaults for whom the real one forgets, because they are asked for",
        ),
    ],
)
def test_what_the_real_one_accepts_means_the_same_to_us(body: str, tmp_path: Path) -> None:
    write(tmp_path, body)
    real = ask_for_all(tmp_path)
    assert real.complaint is None
    assert ours(tmp_path) == real
