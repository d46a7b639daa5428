"""What a configuration holds that nobody wrote."""

from typing import Any

import pytest

from pilotage.config.catalogue import Catalogue
from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.load import effective, load

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def result(text: str, in_tree: Catalogue) -> dict[str, Any]:
    return effective(load(HEAD + text, in_tree).config)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        pytest.param("", "parallelism", 16, id="sixteen at a time"),
        pytest.param("", "percentageOfNodesToScore", 0, id="as many nodes as it sees fit"),
        pytest.param("", "podInitialBackoffSeconds", 1, id="a second of backoff at first"),
        pytest.param("", "podMaxBackoffSeconds", 10, id="ten seconds at last"),
        pytest.param("", "enableProfiling", True, id="profiling"),
        pytest.param("", "enableContentionProfiling", True, id="and of contention too"),
        pytest.param("enableProfiling: false", "enableContentionProfiling", False, id="unless there is no profiling"),
        pytest.param(
            "enableProfiling: false\nenableContentionProfiling: true",
            "enableContentionProfiling",
            True,
            id="except when somebody wants it",
        ),
        pytest.param(
            "",
            "leaderElection",
            {
                "leaderElect": True,
                "leaseDuration": "15s",
                "renewDeadline": "10s",
                "retryPeriod": "2s",
                "resourceLock": "leases",
                "resourceName": "kube-scheduler",
                "resourceNamespace": "kube-system",
            },
            id="an election",
        ),
        pytest.param("leaderElection: {leaseDuration: 0s}", "leaderElection.leaseDuration", "15s", id="zero is absent"),
        pytest.param(
            "leaderElection: {resourceName: ''}", "leaderElection.resourceName", "kube-scheduler", id="so is ''"
        ),
        pytest.param(
            "leaderElection: {leaderElect: false}", "leaderElection.leaderElect", False, id="but false is not"
        ),
        pytest.param(
            "",
            "clientConnection",
            {
                "kubeconfig": "",
                "acceptContentTypes": "",
                "contentType": "application/vnd.kubernetes.protobuf",
                "qps": 50,
                "burst": 100,
            },
            id="a client",
        ),
        pytest.param("clientConnection: {qps: -1}", "clientConnection.qps", -1, id="a client without limit"),
        pytest.param("", "profiles.0.schedulerName", "default-scheduler", id="one profile with a name"),
        pytest.param(
            "profiles: [{}]", "profiles.0.schedulerName", "default-scheduler", id="a name for the only profile"
        ),
        pytest.param(
            "extenders: [{urlPrefix: u}]", "extenders.0", {"urlPrefix": "u", "httpTimeout": "5s"}, id="extender"
        ),
        pytest.param("", "profiles.0.pluginConfig.0.name", "DefaultPreemption", id="arguments in the order of names"),
        pytest.param("", "profiles.0.pluginConfig.3.args.kind", "NodeAffinityArgs", id="arguments tell their kind"),
    ],
)
def test_defaults(text: str, path: str, expected: object, in_tree: Catalogue) -> None:
    found: Any = result(text, in_tree)
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    assert found == expected


def test_what_is_false_or_empty_is_left_out_of_the_effective_configuration(in_tree: Catalogue) -> None:
    found = result("", in_tree)
    assert not {"delayCacheUntilActive", "extenders"} & found.keys()
    assert "percentageOfNodesToScore" not in found["profiles"][0]


def test_the_effective_configuration_loads_and_stays_the_same(in_tree: Catalogue) -> None:
    text = "extenders: [{urlPrefix: u, tlsConfig: {certData: eA==}}]\nclientConnection: {qps: 0.5}\n"
    loaded = load(HEAD + text, in_tree)
    again = loaded.config.model_validate(effective(loaded.config))
    assert effective(again) == effective(loaded.config)


def test_every_default_plugin_has_a_reason_and_its_own_name() -> None:
    assert all(plugin.reason for plugin in DEFAULT_PLUGINS)
    assert len({plugin.name for plugin in DEFAULT_PLUGINS}) == len(DEFAULT_PLUGINS) == 20
