"""Arguments of plugins that the real kube-scheduler refuses: we refuse them in the same words.

Asking the real one takes a while, and so cases share a file where they do not hide each other: each is a profile.
"""

from pathlib import Path

import pytest

from kit.arguments import (
    CONSTRAINT,
    ODD,
    PREFERRED,
    REQUIRED,
    WITH_ARGUMENTS,
    alone,
    configuration,
    constraints,
    expression,
    node_field,
    preferred,
    profile,
    ratio,
    required,
    strategy,
)
from kit.configuration import HEAD, JSON_HEAD, ask_for_all, ours, write

# NodeResourcesFit is not here: only its constructor looks at its arguments, and the first profile that fails hides
# the others.
BROKEN_RULES = {
    "DefaultPreemption": {
        "too many and too few": "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}",
        "too few": "{minCandidateNodesPercentage: -1}",
        "none at all": "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
    },
    "InterPodAffinity": {
        "too heavy": "{hardPodAffinityWeight: 101}",
        "too light": "{hardPodAffinityWeight: -1}",
    },
    "NodeAffinity": {
        "no values": expression("key: a, operator: In"),
        "values that are null": expression("key: a, operator: NotIn, values: null"),
        "an empty list of values": expression("key: a, operator: In, values: []"),
        "values that must not be": expression(f"key: a, operator: Exists, values: ['<a>', {ODD}]"),
        "no key": expression("key: '', operator: DoesNotExist"),
        "an odd key and odd values": expression(f"key: {ODD}, operator: In, values: [{ODD}, '<&>', 'a b']"),
        "keys with wrong prefixes": required(
            "{matchExpressions: [{key: a/b/c, operator: Exists}, {key: /x, operator: Exists}, "
            "{key: x/, operator: Exists}, {key: A_/x, operator: Exists}]}"
        ),
        "too long": expression(f"key: {'p' * 254}/{'k' * 64}, operator: In, values: [{'v' * 64}]"),
        "two numbers": expression("key: a, operator: Gt, values: ['1', '2']"),
        "no number": expression("key: a, operator: Lt, values: []"),
        "no whole number": expression(f"key: a, operator: Gt, values: [{ODD}]"),
        "numbers that are none": required(
            "{matchExpressions: [{key: a, operator: Gt, values: ['9223372036854775808']}, "
            "{key: a, operator: Gt, values: ['5_0']}, {key: a, operator: Lt, values: ['']}]}"
        ),
        "an unknown operator": expression("key: '!', operator: in, values: []"),
        "an odd operator": expression(f"key: a, operator: {ODD}"),
        "no operator": required("{matchExpressions: [null]}"),
        "a field without values": node_field("key: a, operator: In"),
        "a field with an empty list": node_field("key: a, operator: NotIn, values: []"),
        "a field with two values": node_field("key: metadata.name, operator: In, values: ['<a>', b]"),
        "a field with an unknown operator": node_field("key: x, operator: Exists"),
        "preferences": preferred(
            "{weight: 1, preference: {matchExpressions: [{key: '!', operator: In}]}}, {weight: 0, preference: "
            "{matchFields: [{}]}}, {weight: -1, preference: {matchFields: [{key: a, operator: Gt}]}}"
        ),
    },
    "NodeResourcesBalancedAllocation": {
        "a weight": "{resources: [{name: cpu, weight: 2}, {name: memory, weight: -1}]}",
        "a resource twice": f"{{resources: [{{name: {ODD}}}, {{name: {ODD}, weight: 3}}, {{name: {ODD}}}]}}",
        "a resource without name twice": "{resources: [null, {}]}",
    },
    "PodTopologySpread": {
        "an unknown type": "{defaultingType: list}",
        "an odd type": f"{{defaultingType: {ODD}}}",
        "constraints for the system": constraints(f"{{{CONSTRAINT}}}", "System"),
        "constraints for nobody": f"{{defaultConstraints: [{{{CONSTRAINT}}}]}}",
        "an unknown type with a wrong constraint": constraints("{}", "Nothing"),
        "an empty constraint": constraints("{}"),
        "a constraint that is null": constraints("null"),
        "a negative skew": constraints("{maxSkew: -1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}"),
        "odd words": constraints(f"{{maxSkew: 1, topologyKey: {ODD}, whenUnsatisfiable: {ODD}}}"),
        "a key that is none": constraints("{maxSkew: 1, topologyKey: a/b/c, whenUnsatisfiable: doNotSchedule}"),
        "a selector": constraints(f"{{{CONSTRAINT}, labelSelector: {{}}}}"),
        "a selector with null in it": constraints(
            f"{{{CONSTRAINT}, labelSelector: {{matchLabels: {{a: null}}, matchExpressions: [null, {{values: [~]}}]}}}}"
        ),
        "a constraint thrice": constraints(f"{{{CONSTRAINT}}}, {{{CONSTRAINT}}}, {{{CONSTRAINT}}}"),
        "an odd constraint twice": constraints(f"{{topologyKey: {ODD}}}, {{topologyKey: {ODD}}}"),
    },
    "VolumeBinding": {
        "a negative timeout": "{bindTimeoutSeconds: -1}",
        "a shape that does not rise": "{shape: [{utilization: 5}, {utilization: 5}, {utilization: 4}]}",
        "a shape beyond its borders": "{shape: [{utilization: -1, score: 11}, {utilization: 101, score: -1}]}",
        "everything at once": "{shape: [{utilization: 101}, {utilization: -1, score: 11}], bindTimeoutSeconds: -5}",
    },
    "DynamicResources": {
        "negative times": "{filterTimeout: -1us, bindingTimeout: -1.5h}",
        "a time below a second": "{bindingTimeout: 999ms}",
        "no time": "{bindingTimeout: 0s}",
    },
}


@pytest.mark.parametrize("plugin", BROKEN_RULES)
def test_broken_rules_are_told_in_the_same_words(plugin: str, tmp_path: Path) -> None:
    cases = BROKEN_RULES[plugin]
    write(tmp_path, configuration(plugin, cases))
    real = ask_for_all(tmp_path)
    told = real.complaint or ""
    assert [name for i, name in enumerate(cases) if f"profiles[{i}].pluginConfig[0].args." not in told] == []
    assert ours(tmp_path) == real


# Other faults that have a text of the real one's own, each of which hides all others.
REFUSED = [
    *(
        pytest.param(alone("NodeResourcesFit", args), id=f"room: {name}")
        for name, args in {
            "resources that are none": f"{{ignoredResources: ['a b', a/b/c, '', null, {ODD}, '!', '!']}}",
            "groups that are none": f"{{ignoredResourceGroups: [a/b, a/b/c, /, {ODD}]}}",
            "a strategy without type": "{scoringStrategy: {}}",
            "a type that is null": strategy("type: null"),
            "an unknown type": strategy("type: mostAllocated"),
            "an odd type": strategy(f"type: {ODD}"),
            "weights": strategy(
                "type: LeastAllocated, resources: [{name: cpu, weight: 101}, {name: <a>, weight: -1}, "
                "{weight: 9223372036854775807}]"
            ),
            "a ratio without shape": strategy("type: RequestedToCapacityRatio, requestedToCapacityRatio: null"),
            "an empty ratio": ratio("{}"),
            "an empty shape": ratio("{shape: []}"),
            "a shape beyond its borders": ratio(
                "{shape: [{utilization: 5, score: 11}, {utilization: 5, score: -1}, {utilization: 101}, "
                "{utilization: -1}]}"
            ),
            "a shape that is not asked for": strategy("type: MostAllocated, requestedToCapacityRatio: {}"),
            "everything at once": "{scoringStrategy: {requestedToCapacityRatio: {}, resources: [{weight: 101}]}, "
            "ignoredResources: ['!'], ignoredResourceGroups: ['!']}",
        }.items()
    ),
    pytest.param(
        f"{HEAD}profiles: [{{schedulerName: a}}, {profile('b', 'NodeResourcesFit', strategy(''))}]\n",
        id="a constructor that fails in the second profile",
    ),
    pytest.param(
        f"{HEAD}profiles: [{{plugins: {{filter: {{enabled: [{{name: Nobody}}]}}}}, "
        "pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}]}]\n",
        id="a constructor that fails where a plugin is unknown",
    ),
    pytest.param(
        f"{HEAD}extenders: [{{urlPrefix: e, managedResources: [{{name: a.io/x, ignoredByScheduler: true}}]}}]\n"
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, "
        "args: {ignoredResources: ['!'], ignoredResourceGroups: ['!']}}]}]\n",
        id="wrong resources that an extender replaces, and groups that it does not",
    ),
    *(
        pytest.param(
            f"{HEAD}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: {plugin}}}]}}, "
            f"podGroupPostFilter: {{enabled: [{{name: {plugin}}}]}}}}}}]\n",
            id=f"{plugin} without even its defaults",
        )
        for plugin in WITH_ARGUMENTS
    ),
    *(
        pytest.param(alone("NodeAffinity", f"{{{text}}}"), id=name)
        for text, name in {
            "kind: KubeSchedulerConfiguration": "the kind of the file itself",
            "kind: NodeAffinity": "a plugin for a kind",
            f"kind: {ODD}": "an odd kind",
            "apiVersion: a/b/c, kind: X": "a version in three parts",
            "apiVersion: /v1": "a version without group",
            "apiVersion: kubescheduler.config.k8s.io": "a group without version",
            "kind: InterPodAffinityArgs, z: 1, addedAffinity: 5": "the kind of another plugin",
        }.items()
    ),
    pytest.param(
        f"{HEAD}profiles: [{{pluginConfig: [{{name: InterPodAffinity, args: {{hardPodAffinityWeight: -1}}}}, "
        "{name: InterPodAffinity, args: {hardPodAffinityWeight: -2}}, {name: NodeName}, {name: NodeName, args: 5}, "
        f"{{name: {ODD}}}, {{name: {ODD}}}, {{name: EBSLimits, args: {{x: 1}}}}]}}]\n",
        id="arguments twice, right or wrong, known or not",
    ),
    pytest.param(
        f"{HEAD}parallelism: 0\nprofiles: [{{pluginConfig: [{{name: VolumeBinding, args: {{bindTimeoutSeconds: -1}}}}, "
        "{name: DefaultPreemption, args: {minCandidateNodesAbsolute: -1}}, "
        "{name: NodeResourcesFit, args: {scoringStrategy: {}}}]}]\npodMaxBackoffSeconds: 0\n",
        id="rules broken by plugins among others",
    ),
    pytest.param(
        f"{HEAD}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: InterPodAffinity}}]}}}}, "
        "pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]\n",
        id="rules broken by a plugin that does not run",
    ),
    pytest.param(
        f"{HEAD}z: 1\nprofiles: [{{y: 1, pluginConfig: [{{name: InterPodAffinity, args: {{z: 1, y: 1}}, x: 1}}, "
        "{name: InterPodAffinity, args: {x: 1, hardPodAffinityWeight: -1}}, {name: NodeName, args: {x: 1}}]}]\n",
        id="unknown fields of arguments among others",
    ),
    pytest.param(
        f"{HEAD}profiles: [{{pluginConfig: [{{name: InterPodAffinity, args: {{z: 1}}}}, "
        "{name: NodeAffinity, args: {z: 1, kind: InterPodAffinityArgs}}]}]\n",
        id="an unknown field before arguments of a wrong kind",
    ),
    pytest.param(
        f'{JSON_HEAD}, "clientConnection": {{JSONCLIENT}}, "profiles": [{{"pluginConfig": [{{"name": "NodeAffinity", '
        '"args": {"z": 1, "addedAffinity": {"z": 1, "a": 1}, "a": 1}}]}]}',
        id="unknown fields of JSON in the order in which they are written",
    ),
]


@pytest.mark.parametrize("body", REFUSED)
def test_what_the_real_one_refuses_we_refuse_in_the_same_words(body: str, tmp_path: Path) -> None:
    write(tmp_path, body)
    real = ask_for_all(tmp_path)
    assert real.complaint is not None
    assert ours(tmp_path) == real


UNKNOWN_FIELDS = {
    "DefaultPreemption": {"two": "{minCandidateNodePercentage: 1, MinCandidateNodesAbsolute: 2}"},
    "InterPodAffinity": {"null": "{z: null, hardPodAffinityWeight: 5, a: null}"},
    "NodeAffinity": {
        "at every depth": f"{{z: 1, addedAffinity: {{z: 1, {REQUIRED}: {{z: 1, nodeSelectorTerms: [{{matchLabels: 1, "
        f"matchFields: [{{z: 1, a: 1}}]}}]}}, {PREFERRED}: [{{weights: 1, preference: {{match: 1}}}}]}}, a: 1}}",
        "of the future": "{addedAffinity: {requiredDuringSchedulingRequiredDuringExecution: {}}}",
    },
    "NodeResourcesFit": {
        "at every depth": "{scoringStrategy: {Type: MostAllocated, resource: [], resources: [{nam: cpu}], "
        "requestedToCapacityRatio: {shapes: [], shape: [{utilisation: 1, a: 1}]}}, ignoredResource: 1}",
    },
    "NodeResourcesBalancedAllocation": {"two": "{resources: [{nam: cpu, wight: 1}, {z: 1}], resorces: 1}"},
    "PodTopologySpread": {
        "in a long list": constraints(", ".join(f"{{{CONSTRAINT}, z: {i}, a: {i}}}" for i in range(12))),
        "in a selector": constraints("{labelSelector: {matchLabel: {}, matchExpressions: [{z: 1, values: []}]}}"),
        "odd": f"{{{ODD}: 1}}",
    },
    "VolumeBinding": {"beside broken rules": "{shape: [{util: 1, score: 11, z: 1}], bindTimeout: 1}"},
    "DynamicResources": {"a small letter": "{filterTimeouts: 1s, bindingtimeout: 1s}"},
}


@pytest.mark.parametrize("plugin", WITH_ARGUMENTS)
def test_unknown_fields_are_told_in_the_same_order(plugin: str, tmp_path: Path) -> None:
    cases = UNKNOWN_FIELDS[plugin]
    write(tmp_path, configuration(plugin, cases))
    real = ask_for_all(tmp_path)
    told = real.complaint or ""
    assert [name for i, name in enumerate(cases) if f".profiles[{i}].pluginConfig[0]: strict" not in told] == []
    assert ours(tmp_path) == real


# The real one tells of Go's types here, and of the first fault only.
WRONG_TYPES = {
    "DefaultPreemption": [
        "{minCandidateNodesPercentage: '5'}",
        "{minCandidateNodesPercentage: 1.5}",
        "{minCandidateNodesAbsolute: 2147483648}",
        "{minCandidateNodesAbsolute: [], z: 1}",
    ],
    "InterPodAffinity": ["{ignorePreferredTermsOfExistingPods: 'true'}", "{hardPodAffinityWeight: yes}"],
    "NodeAffinity": [
        "{addedAffinity: []}",
        f"{{addedAffinity: {{{REQUIRED}: []}}}}",
        f"{{addedAffinity: {{{PREFERRED}: {{}}}}}}",
        preferred("{weight: '1'}"),
        preferred("1"),
        expression("key: a, operator: No"),
        expression("key: a, operator: In, values: [5]"),
        expression("key: a, operator: In, values: a"),
    ],
    "NodeResourcesFit": [
        "{ignoredResources: [5]}",
        "{ignoredResources: cpu}",
        "{scoringStrategy: MostAllocated}",
        strategy("type: 5"),
        strategy("resources: [cpu]"),
        strategy("resources: [{name: cpu, weight: 9223372036854775808}]"),
        ratio("{shape: {}}"),
    ],
    "NodeResourcesBalancedAllocation": ["{resources: [cpu]}", "{resources: [{name: cpu, weight: x}]}"],
    "PodTopologySpread": [
        "{defaultingType: 5}",
        "{defaultConstraints: {}}",
        constraints(f"{{{CONSTRAINT}, labelSelector: {{matchLabels: {{a: 5}}}}}}"),
        constraints(f"{{{CONSTRAINT}, labelSelector: {{matchLabels: []}}}}"),
        constraints(f"{{{CONSTRAINT}, nodeAffinityPolicy: 5}}"),
        constraints(f"{{{CONSTRAINT}, minDomains: '1'}}"),
        constraints(f"{{{CONSTRAINT}, matchLabelKeys: x}}"),
    ],
    "VolumeBinding": ["{bindTimeoutSeconds: 600s}", "{shape: {}}", "{shape: [{utilization: 1.5}]}"],
    "DynamicResources": [
        "{filterTimeout: 10}",
        "{filterTimeout: 0}",
        "{bindingTimeout: ''}",
        "{bindingTimeout: {}}",
        "{bindingTimeout: soon}",
    ],
}
NO_ARGUMENTS = ["5", "''", "[]", "{kind: 0}", "{apiVersion: no}", "{kind: []}", "{apiVersion: {}}", "{apiVersion: x/}"]


@pytest.mark.parametrize(
    ("plugin", "args"),
    [
        *(pytest.param(plugin, args, id=f"{plugin} {args}") for plugin, all_ in WRONG_TYPES.items() for args in all_),
        *(pytest.param("NodeAffinity", args, id=f"NodeAffinity {args}") for args in NO_ARGUMENTS),
    ],
)
def test_wrong_types_are_refused(plugin: str, args: str, tmp_path: Path) -> None:
    write(tmp_path, alone(plugin, args))
    beginning = f"decoding .profiles[0].pluginConfig[0]: decoding args for plugin {plugin}: "
    for answer in (ask_for_all(tmp_path), ours(tmp_path)):
        assert (answer.complaint or "").startswith(beginning)
