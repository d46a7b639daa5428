"""Rules for values: each one's text, word for word."""

import pytest

from pilotage.config.catalogue import Catalogue
from pilotage.config.faults import Fault, InvalidConfiguration, Stage
from pilotage.config.load import load
from pilotage.plugins.catalogue import built_in

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
REMOVED = 'was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
SAME = "must be the same for all profiles"
NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def refusal(text: str, in_tree: Catalogue) -> InvalidConfiguration:
    with pytest.raises(InvalidConfiguration) as refused:
        load(HEAD + text, in_tree)
    return refused.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "parallelism: 0",
            "parallelism: Invalid value: 0: should be an integer value greater than zero",
            id="parallelism",
        ),
        pytest.param(
            "percentageOfNodesToScore: 101",
            "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
            id="percentage",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 0",
            "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
            id="first backoff",
        ),
        pytest.param(
            "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 1",
            "podMaxBackoffSeconds: Invalid value: 1: must be greater than or equal to PodInitialBackoffSeconds",
            id="last backoff",
        ),
        pytest.param(
            "clientConnection: {burst: -1}",
            "clientConnection.burst: Invalid value: -1: must be non-negative",
            id="burst",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: 10s}",
            'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
            id="a lease no longer than its deadline, of which the deadline is printed",
        ),
        pytest.param(
            "leaderElection: {leaseDuration: -1s, renewDeadline: -2s}",
            '[leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero, '
            'leaderElection.renewDeadline: Invalid value: "-2s": must be greater than zero]',
            id="negative times",
        ),
        pytest.param(
            "leaderElection: {retryPeriod: -1ns}",
            'leaderElection.retryPeriod: Invalid value: "-1ns": must be greater than zero',
            id="a negative period",
        ),
        pytest.param(
            "leaderElection: {resourceLock: endpoints}",
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
            id="a lock that is no lease",
        ),
        pytest.param(
            "leaderElection: {renewDeadline: 2400ms}",
            "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor",
            id="a deadline too short for its retries",
        ),
        pytest.param("profiles: [{schedulerName: ''}]", "profiles[0].schedulerName: Required value", id="no name"),
        pytest.param(
            "profiles: [{}, {schedulerName: b}]",
            "profiles[0].schedulerName: Required value",
            id="no name among several",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "profiles[1].schedulerName: Duplicate value: {}",
            id="a name twice",
        ),
        pytest.param(
            "profiles: [{percentageOfNodesToScore: -1}]",
            "profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
            id="percentage of a profile",
        ),
        pytest.param(
            "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
            f'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": {REMOVED}',
            id="a removed plugin",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: CinderLimits}]}]",
            f'profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": {REMOVED}',
            id="arguments of a removed plugin",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: NodeName}, {name: NodeName}]}]",
            'profiles[0].pluginConfig[1]: Duplicate value: "NodeName"',
            id="arguments twice",
        ),
        pytest.param(
            "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: -1}}]}]",
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]",
            id="what a plugin says about its arguments",
        ),
        pytest.param(
            r'profiles: [{pluginConfig: [{name: "<\x7f"}, {name: "<\x7f"}]}]',
            r'profiles[0].pluginConfig[1]: Duplicate value: "<\x7f"',
            id="a string is quoted",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: <}]}]",
            rf'extenders[0].managedResources[0].name: Invalid value: "\u003c": name part {NAME_RULE}',
            id="a string that has a type of its own is JSON",
        ),
        pytest.param(
            "profiles: [{schedulerName: a}, "
            "{schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}]",
            'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"PrioritySort","Weight":0}],'
            f'"Disabled":null}}: {SAME}',
            id="the default queue spelt out in one profile only",
        ),
        pytest.param(
            "profiles: [{plugins: {queueSort: {enabled: [{name: PrioritySort}, {name: NodeName}]}}}]",
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
            id="two queues",
        ),
        pytest.param(
            "profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}}, "
            "{schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}]}}, "
            "pluginConfig: [{name: PrioritySort, args: {x: 1}}]}]",
            f'profiles[1].pluginConfig.args: Invalid value: {{"x":1}}: queueSort {SAME}',
            id="arguments of the queue",
        ),
        pytest.param(
            "profiles: [{schedulerName: a, pluginConfig: [{name: PrioritySort, args: {x: 1}}]}, {schedulerName: b}]",
            'initializing profiles: different queue sort plugin args for profile "b"',
            id="arguments of the queue in the first profile only",
        ),
        pytest.param(
            "extenders: [{prioritizeVerb: p}]",
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
            id="an extender that scores and weighs nothing",
        ),
        pytest.param(
            "extenders: [{bindVerb: a}, {bindVerb: b}]",
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
            id="two extenders that bind",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: cpu}]}]",
            'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
            id="a resource of Kubernetes itself",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: x.io/-}]}]",
            f'extenders[0].managedResources[0].name: Invalid value: "x.io/-": name part {NAME_RULE}',
            id="a name that is none",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: x.io/a}]}, {managedResources: [{name: x.io/a}]}]",
            'extenders[1].managedResources[0].name: Invalid value: "x.io/a": duplicate extender managed resource name',
            id="a resource twice",
        ),
        pytest.param(
            "extenders: [{tlsConfig: {insecure: true, caData: eA==}}]",
            "couldn't build extenders: specifying a root certificates file with the insecure flag is not allowed",
            id="authorities for a connection without check",
        ),
        pytest.param(
            "extenders: [{managedResources: [{name: x.io/a, ignoredByScheduler: true}]}]\n"
            "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]",
            "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config",
            id="ignored resources without the plugin that would ignore them",
        ),
    ],
)
def test_text(text: str, expected: str, in_tree: Catalogue) -> None:
    assert refusal(text, in_tree).upstream == expected


def test_without_election_its_values_do_not_matter(in_tree: Catalogue) -> None:
    load(f"{HEAD}leaderElection: {{leaderElect: false, leaseDuration: -1s, resourceLock: endpoints}}", in_tree)


def test_all_faults_are_told_at_once_with_their_lines_and_in_the_order_of_kube_scheduler(in_tree: Catalogue) -> None:
    text = (
        "parallelism: 0\n"
        "foo: 1\n"
        "extenders:\n"
        "- {prioritizeVerb: p}\n"
        "profiles:\n"
        "- schedulerName: a\n"
        "  plugins:\n"
        "    filter:\n"
        "      enabled: [{name: NodeNames}]\n"
        "- schedulerName: a\n"
    )
    assert str(refusal(text, in_tree)).splitlines() == [
        '<configuration>:4: unknown field "foo"',
        "<configuration>:3: parallelism: Invalid value: 0: should be an integer value greater than zero",
        '<configuration>:12: profiles[1].schedulerName: Duplicate value: {}; "a" is also the name of profiles[0]',
        "<configuration>:6: extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        "<configuration>:11: initializing profiles: creating profile for scheduler name a: "
        'FilterPlugin "NodeNames" does not exist; did you mean "NodeName"?',
    ]


def test_equal_messages_are_told_once() -> None:
    fault = Fault(Stage.VALIDATION, "x")
    assert InvalidConfiguration("f", [fault, fault]).upstream == "x"


def test_a_question_is_asked_once() -> None:
    faults = [Fault(Stage.STRICTNESS, text, hint='did you mean "x"?') for text in ("first", "second")]
    assert str(InvalidConfiguration("f", faults)).splitlines() == ['f: first; did you mean "x"?', "f: second"]


@pytest.mark.parametrize(
    ("plugins", "told"),
    [
        pytest.param(
            "multiPoint: {enabled: [{name: QOSSort}]}",
            ["but got 2; PrioritySort and QOSSort sort it; leave one of them"],
            id="one beside the default",
        ),
        pytest.param(
            "queueSort: {enabled: [{name: QOSSort}, {name: TopologicalSort}]}",
            [
                "only one queue sort plugin can be enabled; QOSSort and TopologicalSort sort it; leave one of them",
                "but got 3; PrioritySort, QOSSort and TopologicalSort sort it; leave one of them",
            ],
            id="two, and the default",
        ),
        pytest.param("queueSort: {disabled: [{name: '*'}]}", ["but got 0"], id="none"),
    ],
)
def test_all_who_sort_the_queue_are_named(plugins: str, told: list[str]) -> None:
    lines = str(refusal(f"profiles: [{{plugins: {{{plugins}}}}}]", built_in())).splitlines()
    assert len(lines) == len(told)
    assert all(line.endswith(end) for line, end in zip(lines, told, strict=True)), lines
