"""`pilotage run`: its flags, what they become, and how it ends when something is wrong with them."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from pilotage.app.options import Options
from pilotage.cli.ignored_flags import IGNORED, IGNORED_BOOLS
from pilotage.cli.run import command
from pilotage.config.durations import Duration
from pilotage.model.outside_services import OutsideRules

Pilotage = Callable[..., Result]
Write = Callable[..., str]

EVERYWHERE = "0.0.0.0"  # noqa: S104 - as kube-scheduler
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Ran:
    """What the scheduler would have been started with."""

    def __init__(self) -> None:
        self.options: list[Options] = []
        self.code = 0

    async def __call__(self, ready: Any, options: Options) -> int:
        self.options.append(options)
        return self.code


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Start no scheduler, but keep what it is told."""
    found = Ran()
    monkeypatch.setattr("pilotage.app.running.run", found)
    return found


@pytest.fixture
def options(pilotage: Pilotage, ran: Ran) -> Callable[..., Options]:
    """Return what the words of a command line become."""

    def read(*words: object) -> Options:
        result = pilotage("run", *words)
        assert result.exit_code == 0, result.output
        return ran.options[-1]

    return read


class TestServicesOfProfiles:
    """What comes from profiles is bounded; what whoever starts us wrote is theirs."""

    def test_a_file_of_whoever_starts_it_has_no_bounds(self, options: Callable[..., Options]) -> None:
        assert options("--allowed-hosts=a").outside is None

    def test_a_config_map_has(self, options: Callable[..., Options]) -> None:
        assert options("--config-map=a/b").outside == OutsideRules("/etc/pilotage/credentials", ())
        words = ("--config-map=a/b", "--credentials-dir=/mine", "--allowed-hosts=prom:9090,*.svc")
        assert options(*words).outside == OutsideRules("/mine", ("prom:9090", "*.svc"))

    @pytest.mark.parametrize(
        ("word", "text"),
        [
            pytest.param("--credentials-dir=/var/run", "the scheduler's own token", id="where the account's token is"),
            pytest.param("--credentials-dir=here", "absolute path", id="wherever we are"),
            pytest.param("--allowed-hosts=https://prom", "is not a host", id="a URL"),
            pytest.param("--allowed-hosts=*", "is not a host", id="everything"),
        ],
    )
    def test_bounds_that_are_none(self, pilotage: Pilotage, ran: Ran, word: str, text: str) -> None:
        result = pilotage("run", "--config-map=a/b", word)
        assert result.exit_code == 2
        assert text in " ".join(result.output.split())
        assert ran.options == []


class TestFlags:
    def test_the_defaults_are_kube_schedulers(self, options: Callable[..., Options]) -> None:
        found = options()
        assert (found.serving.bind_address, found.serving.secure_port) == (EVERYWHERE, 10259)
        assert found.serving.always_allow_paths == ("/healthz", "/readyz", "/livez")
        assert found.serving.requestheader_group_headers == ("x-remote-group",)
        assert found.leader_election == {}
        assert (found.qps, found.burst, found.profiling) == (None, None, None)
        assert found.longest_unschedulable == 300.0
        assert (found.verbosity, found.logging_format) == (0, "text")

    @pytest.mark.parametrize(
        ("words", "name", "expected"),
        [
            pytest.param(["--kubeconfig=/k"], "kubeconfig", "/k", id="the way to the server"),
            pytest.param(["--master", "https://m:1"], "master", "https://m:1", id="its address"),
            pytest.param(["--kube-api-qps=7.5"], "qps", 7.5, id="requests a second"),
            pytest.param(["--kube-api-burst=9"], "burst", 9, id="requests at once"),
            pytest.param(["--profiling=false"], "profiling", False, id="no profiling"),
            pytest.param(["--profiling"], "profiling", True, id="profiling, alone"),
            pytest.param(
                ["--pod-max-in-unschedulable-pods-duration=1m30s"], "longest_unschedulable", 90.0, id="a duration"
            ),
            pytest.param(
                ["--feature-gates=A=true,kube:B=false", "--feature-gates", "C=True"],
                "feature_gates",
                {"A": True, "B": False, "C": True},
                id="gates",
            ),
            pytest.param(["--disabled-metrics=a, b,"], "disabled_metrics", ("a", "b"), id="metrics that are not told"),
            pytest.param(
                ["--allow-metric-labels", "m,l='x,y'"],
                "allowed_labels",
                {"m": {"l": frozenset({"x", "y"})}},
                id="labels that are told",
            ),
            pytest.param(["--v=4"], "verbosity", 4, id="a lot of log"),
            pytest.param(["-v=4"], "verbosity", 4, id="a lot of log, as klog has it"),
            pytest.param(["-v", "4"], "verbosity", 4, id="a lot of log, in two words"),
            pytest.param(["-v4"], "verbosity", 4, id="a lot of log, in short"),
            pytest.param(["--vmodule=loop=5"], "vmodule", "loop=5", id="of one module"),
            pytest.param(["--logging-format=json"], "logging_format", "json", id="for machines"),
        ],
    )
    def test_of_the_scheduler(
        self, options: Callable[..., Options], words: list[str], name: str, expected: object
    ) -> None:
        assert getattr(options(*words), name) == expected

    @pytest.mark.parametrize(
        ("words", "name", "expected"),
        [
            pytest.param(["--bind-address=::1"], "bind_address", "::1", id="where"),
            pytest.param(["--secure-port=0"], "secure_port", 0, id="not at all"),
            pytest.param(["--tls-cert-file=/c"], "tls_cert_file", "/c", id="certificate"),
            pytest.param(["--tls-private-key-file=/k"], "tls_private_key_file", "/k", id="key"),
            pytest.param(["--tls-min-version=VersionTLS13"], "tls_min_version", "VersionTLS13", id="TLS"),
            pytest.param(["--tls-cipher-suites=A,B"], "tls_cipher_suites", ("A", "B"), id="ciphers"),
            pytest.param([f"--client-ca-file={__file__}"], "client_ca_file", __file__, id="whom to trust"),
            pytest.param(
                [f"--requestheader-client-ca-file={__file__}"],
                "requestheader_client_ca_file",
                __file__,
                id="which proxies to trust",
            ),
            pytest.param(["--requestheader-allowed-names=a"], "requestheader_allowed_names", ("a",), id="proxies"),
            pytest.param(
                ["--requestheader-uid-headers=x-u"], "requestheader_uid_headers", ("x-u",), id="their headers"
            ),
            pytest.param(["--authentication-skip-lookup"], "authentication_skip_lookup", True, id="no lookup"),
            pytest.param(
                ["--authentication-token-webhook-cache-ttl=1500ms"], "authentication_cache_seconds", 1.5, id="memory"
            ),
            pytest.param(["--authorization-always-allow-paths=/a,/b"], "always_allow_paths", ("/a", "/b"), id="paths"),
            pytest.param(["--permit-port-sharing"], "share_port", True, id="a shared port"),
            pytest.param([], "api_port", 10260, id="the API, by default"),
            pytest.param(["--secure-port=0"], "api_port", 0, id="neither pages nor the API"),
            pytest.param(["--secure-port=0", "--api-port=7000"], "api_port", 7000, id="the API without the pages"),
            pytest.param(["--api-port=0"], "api_port", 0, id="the pages without the API"),
        ],
    )
    def test_of_the_server(
        self, options: Callable[..., Options], words: list[str], name: str, expected: object
    ) -> None:
        assert getattr(options(*words).serving, name) == expected

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            pytest.param(["--leader-elect"], {"leader_elect": True}, id="alone"),
            pytest.param(["--leader-elect=true"], {"leader_elect": True}, id="true"),
            pytest.param(["--leader-elect=false"], {"leader_elect": False}, id="false"),
            pytest.param(["--leader-elect=F"], {"leader_elect": False}, id="as Go reads it"),
            pytest.param(["--leader-elect", "--v=1"], {"leader_elect": True}, id="before another flag"),
            pytest.param(
                [
                    "--leader-elect-lease-duration=1m",
                    "--leader-elect-renew-deadline=40s",
                    "--leader-elect-retry-period=5s",
                ],
                {
                    "lease_duration": Duration(60 * 10**9),
                    "renew_deadline": Duration(40 * 10**9),
                    "retry_period": Duration(5 * 10**9),
                },
                id="times",
            ),
            pytest.param(
                ["--leader-elect-resource-name=a", "--leader-elect-resource-namespace=b"],
                {"resource_name": "a", "resource_namespace": "b"},
                id="which lease",
            ),
            pytest.param(["--leader-elect-resource-lock=leases"], {"resource_lock": "leases"}, id="what kind"),
        ],
    )
    def test_of_the_election(
        self, options: Callable[..., Options], words: list[str], expected: dict[str, object]
    ) -> None:
        assert options(*words).leader_election == expected

    def test_all_of_them_are_told_to_flagz(self, options: Callable[..., Options]) -> None:
        found = options("--v=3", "--secure-port=0").flags
        with_values = {each.name for each in command.params if isinstance(each.default, str | int) and each.name}
        assert {name.replace("_", "-") for name in with_values} <= set(found)
        assert (found["verbosity"], found["secure-port"]) == ("3", "0")
        assert found["bind-address"] == EVERYWHERE


class TestBesideAConfigurationFile:
    @pytest.mark.parametrize(
        ("word", "name"),
        [
            pytest.param("--profiling=false", "profiling", id="profiling"),
            pytest.param("--kube-api-qps=7", "qps", id="requests a second"),
            pytest.param("--kube-api-burst=7", "burst", id="requests at once"),
        ],
    )
    def test_some_flags_say_nothing(self, pilotage: Pilotage, ran: Ran, write: Write, word: str, name: str) -> None:
        result = pilotage("run", "--config", write(HEAD), word)
        assert getattr(ran.options[0], name) is None
        assert f"note: {word.partition('=')[0]} is ignored: the file of --config sets it" in result.stderr

    def test_a_kubeconfig_says_nothing_if_the_file_names_another(
        self, pilotage: Pilotage, ran: Ran, write: Write
    ) -> None:
        file = write(HEAD + "clientConnection: {kubeconfig: /file}\n")
        result = pilotage("run", "--config", file, "--kubeconfig=/flag")
        assert "note: --kubeconfig is ignored: the file of --config names /file" in result.stderr
        assert "note" not in pilotage("run", "--config", write(HEAD), "--kubeconfig=/flag").stderr

    def test_others_go_before_it(self, pilotage: Pilotage, write: Write, tmp_path: Path) -> None:
        file, out = write(HEAD + "leaderElection: {leaderElect: true, resourceName: a}\n"), tmp_path / "out.yaml"
        words = ["--leader-elect=false", "--leader-elect-retry-period=3s"]
        assert pilotage("run", "--config", file, *words, "--write-config-to", out).exit_code == 0
        found = yaml.safe_load(out.read_text())["leaderElection"]
        assert (found["leaderElect"], found["resourceName"], found["retryPeriod"]) == (False, "a", "3s")


class TestWriteConfigTo:
    def test_the_whole_configuration_with_what_flags_change(self, pilotage: Pilotage, ran: Ran, tmp_path: Path) -> None:
        out = tmp_path / "out.yaml"
        words = ["--kube-api-qps=7", "--profiling=false", "--kubeconfig=/k"]
        assert pilotage("run", *words, "--write-config-to", out).exit_code == 0
        found = yaml.safe_load(out.read_text())
        assert found["kind"] == "KubeSchedulerConfiguration"
        assert found["enableProfiling"] is False
        assert (found["clientConnection"]["qps"], found["clientConnection"]["kubeconfig"]) == (7, "/k")
        assert found["profiles"][0]["schedulerName"] == "default-scheduler"
        assert ran.options == []  # and no scheduler runs

    def test_what_was_written_can_be_read(self, pilotage: Pilotage, ran: Ran, tmp_path: Path) -> None:
        first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
        pilotage("run", "--write-config-to", first)
        assert pilotage("run", "--config", first, "--write-config-to", second).exit_code == 0
        assert first.read_text() == second.read_text()

    def test_a_place_that_cannot_be_written(self, pilotage: Pilotage) -> None:
        result = pilotage("run", "--write-config-to", "/nowhere/x.yaml")
        assert result.exit_code == 2
        assert result.stderr == "--write-config-to: cannot write /nowhere/x.yaml: No such file or directory\n"


class TestHowItEnds:
    @pytest.mark.parametrize("code", [0, 1])
    def test_with_the_schedulers_code(self, pilotage: Pilotage, ran: Ran, code: int) -> None:
        ran.code = code
        assert pilotage("run").exit_code == code

    @pytest.mark.parametrize(
        ("words", "text"),
        [
            pytest.param(["--config=/nowhere"], "open /nowhere: no such file or directory", id="no such configuration"),
            pytest.param(["--kubeconfig=/nowhere"], "cannot read the kubeconfig /nowhere", id="no such kubeconfig"),
            pytest.param(["--master=nonsense"], "is not an address like https://host:port", id="no address"),
            pytest.param(["--vmodule=x"], "'x' is not a module rule", id="no rule"),
            pytest.param(["--allow-metric-labels=x"], "'x' allows no labels; write metric,label=", id="no labels"),
            pytest.param(["--feature-gates=x"], "--feature-gates: 'x' is neither KEY=true nor KEY=false", id="no gate"),
            pytest.param(
                ["--master=http://127.0.0.1:1", "--leader-elect-lease-duration=1s"],
                "leaderElection.leaseDuration must be greater than renewDeadline; change --leader-elect-lease-duration",
                id="times that cannot be",
            ),
            pytest.param(
                ["--master=http://127.0.0.1:1", "--tls-cert-file=/nowhere", "--tls-private-key-file=/nowhere"],
                "cannot read /nowhere",
                id="no such certificate",
            ),
            pytest.param(
                ["--master=http://127.0.0.1:1", "--tls-min-version=SSL3"], "unknown --tls-min-version", id="no such TLS"
            ),
            pytest.param(["--client-ca-file=/nowhere"], "File '/nowhere' does not exist", id="no such authority"),
            pytest.param(["--leader-elect=maybe"], "'maybe' is neither true nor false", id="no bool"),
            pytest.param(["--leader-elect-retry-period=5"], "'5' is not a duration; write 15s", id="no duration"),
            pytest.param(["--leader-elect-resource-lock=endpoints"], "'endpoints' is not 'leases'", id="no lock"),
            pytest.param(["--secure-port=99999"], "99999 is not in the range 0<=x<=65535", id="no port"),
            pytest.param(["--v=11"], "11 is not in the range 0<=x<=10", id="no verbosity"),
            pytest.param(
                ["--leader-elekt"],
                "No such option '--leader-elekt'. (Did you mean one of: '--leader-elect',",
                id="an unknown flag",
            ),
            pytest.param(
                ["pods", "nodes"],
                "run takes no arguments, only flags; remove pods nodes",
                id="a word that is no flag",
            ),
        ],
    )
    def test_with_2_at_the_door(self, pilotage: Pilotage, words: list[str], text: str) -> None:
        result = pilotage("run", *words)
        assert result.exit_code == 2
        assert text in " ".join(result.stderr.split())
        assert "pilotage failed" not in result.stderr

    def test_with_2_if_the_port_is_taken(self, pilotage: Pilotage) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            words = ["--master=http://127.0.0.1:1", "--bind-address=127.0.0.1", f"--secure-port={port}"]
            result = pilotage("run", *words)
        assert result.exit_code == 2
        assert f"cannot listen on 127.0.0.1:{port}" in result.stderr

    def test_with_2_if_an_extender_cannot_be_trusted(self, pilotage: Pilotage, write: Write) -> None:
        broken = "tlsConfig: {caData: bm90aGluZw==}"
        extender = f"extenders: [{{urlPrefix: 'https://e', filterVerb: f, enableHTTPS: true, {broken}}}]\n"
        result = pilotage("run", "--config", write(HEAD + extender), "--master=http://127.0.0.1:1")
        assert result.exit_code == 2
        assert "https://e" in result.stderr


class TestFlagsThatMeanNothingHere:
    @pytest.mark.parametrize(("flag", "reason"), IGNORED.items())
    def test_with_a_value(self, pilotage: Pilotage, ran: Ran, flag: str, reason: str) -> None:
        result = pilotage("run", f"{flag}={'A=true' if flag == '--feature-gates' else 'x'}")
        assert result.exit_code == 0
        assert result.stderr == f"note: {flag} is ignored: {reason}\n"
        assert ran.options

    @pytest.mark.parametrize(("flag", "reason"), IGNORED_BOOLS.items())
    @pytest.mark.parametrize("value", ["", "=false"])
    def test_alone_or_with_a_bool(self, pilotage: Pilotage, ran: Ran, flag: str, reason: str, value: str) -> None:
        result = pilotage("run", flag + value)
        assert result.exit_code == 0
        assert result.stderr == f"note: {flag} is ignored: {reason}\n"

    def test_nothing_is_said_about_flags_that_nobody_gave(self, pilotage: Pilotage, ran: Ran) -> None:
        assert pilotage("run").stderr == ""


# Section by section, what `kube-scheduler --help` of 1.37 has.
KUBE_SCHEDULER_FLAGS = """
config write-config-to master
bind-address secure-port cert-dir tls-cert-file tls-private-key-file tls-cipher-suites tls-curve-preferences
tls-min-version tls-sni-cert-key disable-http2-serving http2-max-streams-per-connection permit-port-sharing
permit-address-sharing
authentication-kubeconfig authentication-skip-lookup authentication-token-webhook-cache-ttl
authentication-tolerate-lookup-failure client-ca-file requestheader-client-ca-file requestheader-allowed-names
requestheader-username-headers requestheader-uid-headers requestheader-group-headers
requestheader-extra-headers-prefix
authorization-kubeconfig authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
authorization-always-allow-paths
leader-elect leader-elect-lease-duration leader-elect-renew-deadline leader-elect-retry-period
leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace
profiling contention-profiling kubeconfig kube-api-content-type kube-api-qps kube-api-burst
pod-max-in-unschedulable-pods-duration
feature-gates emulated-version min-compatibility-version
show-hidden-metrics-for-version disabled-metrics allow-metric-labels allow-metric-labels-manifest
logging-format log-flush-frequency v vmodule log-text-split-stream log-text-info-buffer-size log-json-split-stream
log-json-info-buffer-size
help version
"""


def test_the_help_shows_every_flag_of_kube_scheduler(pilotage: Pilotage) -> None:
    text = pilotage("run", "--help").stdout
    assert [
        flag for flag in KUBE_SCHEDULER_FLAGS.split() if f"--{flag} " not in text and f"--{flag}\n" not in text
    ] == []


def test_the_help_hides_nothing() -> None:
    assert [parameter.name for parameter in command.params if getattr(parameter, "hidden", False)] == []


def test_its_version(pilotage: Pilotage) -> None:
    assert pilotage("run", "--version").stdout == pilotage("--version").stdout
