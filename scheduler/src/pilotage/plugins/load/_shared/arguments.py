"""The common arguments of plugins that score by load: the source of the metrics."""

import math
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, PlainSerializer, StrictBool, StrictStr
from pydantic_core import PydanticCustomError

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, invalid, unsupported
from pilotage.config.types import Section
from pilotage.model.outside_services import Service, secret_file
from pilotage.model.redaction import without_password

METRICS_SERVER, PROMETHEUS, SIGNAL_FX = "KubernetesMetricsServer", "Prometheus", "SignalFx"
DEFAULT_PROMETHEUS = "http://prometheus-k8s:9090"
INSTANCE = "instance"  # the label
INSTANCE_IS = ("Any", "NodeName", "NodeAddress")
RULES = {"cpu": "instance:node_cpu:ratio", "memory": "instance:node_memory_utilisation:ratio"}
FUNCTIONS = {"average": "avg_over_time", "deviation": "stddev_over_time"}

USERNAME, PASSWORD = "username", "password"  # the keys of a Secret of type kubernetes.io/basic-auth
_SECRET_NAME, _SECRET_KEY = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", r"^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$"

Query = tuple[tuple[str, str], str]  # a resource with average or deviation, and its PromQL


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise PydanticCustomError("float_type", "no number")
    return float(value)


Number = Annotated[float, BeforeValidator(_number), PlainSerializer(lambda x: int(x) if x.is_integer() else x)]


def _is_empty(value: Any) -> bool:
    return not value


class ResourceQueries(Section):
    """PromQL for one resource, with results between 0 and 1 per node; by default the recording rule is queried."""

    average: StrictStr = Field(default="", exclude_if=_is_empty)
    deviation: StrictStr = Field(default="", exclude_if=_is_empty)


NO_QUERIES = ResourceQueries()


class LoadQueries(Section):
    """PromQL for both resources."""

    cpu: ResourceQueries = Field(default=NO_QUERIES, exclude_if=lambda given: given == NO_QUERIES)
    memory: ResourceQueries = Field(default=NO_QUERIES, exclude_if=lambda given: given == NO_QUERIES)


RECORDING_RULES = LoadQueries()


class SecretKey(Section):
    """One key of a Secret mounted for the scheduler."""

    name: StrictStr = Field(pattern=_SECRET_NAME, max_length=253)
    key: StrictStr = Field(pattern=_SECRET_KEY, max_length=253)


class SecretName(Section):
    """A Secret mounted for the scheduler."""

    name: StrictStr = Field(pattern=_SECRET_NAME, max_length=253)


class MetricProvider(Section):
    """The source of load metrics."""

    type: StrictStr = Field(default="", exclude_if=_is_empty)
    address: StrictStr = Field(default="", exclude_if=_is_empty)
    token: StrictStr = Field(default="", exclude_if=_is_empty)
    token_file: StrictStr = Field(default="", exclude_if=_is_empty)
    token_secret_ref: SecretKey | None = Field(default=None, exclude_if=_is_empty)
    basic_auth_secret_ref: SecretName | None = Field(default=None, exclude_if=_is_empty)
    ca_file: StrictStr = Field(default="", exclude_if=_is_empty)
    insecure_skip_verify: StrictBool = Field(default=False, exclude_if=_is_empty)
    instance_label: StrictStr = Field(default=INSTANCE, exclude_if=lambda given: given == INSTANCE)
    instance_is: StrictStr = Field(default=INSTANCE_IS[0], exclude_if=lambda given: given == INSTANCE_IS[0])
    queries: LoadQueries = Field(default=RECORDING_RULES, exclude_if=lambda given: given == RECORDING_RULES)

    @property
    def asked(self) -> tuple[Query, ...]:
        """Return all queries for Prometheus."""
        own = {"cpu": self.queries.cpu, "memory": self.queries.memory}
        return tuple(
            ((resource, figure), getattr(own[resource], figure) or f"{function}({rule}[15m])")
            for resource, rule in RULES.items()
            for figure, function in FUNCTIONS.items()
        )

    @property
    def url(self) -> str:
        """Return the URL of Prometheus."""
        return self.address or DEFAULT_PROMETHEUS

    def wrong(self, at: At) -> Iterator[Fault]:
        """Yield the errors."""
        if self.type not in ("", METRICS_SERVER, PROMETHEUS):
            hint = f"write {METRICS_SERVER} or {PROMETHEUS}, or give a watcherAddress"
            if self.type == SIGNAL_FX:
                hint = f"{SIGNAL_FX} is not supported directly; {hint} of a load-watcher that queries it"
            yield Fault(Stage.PROFILES, f"invalid MetricProvider.Type, got {self.type}", (*at, "type"), hint)
        elif self.type == PROMETHEUS:
            yield from wrong_address((*at, "address"), self.url)
        if self.instance_is not in INSTANCE_IS:
            yield unsupported((*at, "instanceIs"), self.instance_is, INSTANCE_IS)
        if not self.instance_label:
            yield invalid((*at, "instanceLabel"), "", "must be the name of a label, such as instance or node")
        ways: dict[str, Any] = {
            "token": self.token,
            "tokenFile": self.token_file,
            "tokenSecretRef": self.token_secret_ref,
            "basicAuthSecretRef": self.basic_auth_secret_ref,
        }
        for second in [name for name, given in ways.items() if given][1:]:
            where = self.token_file if second == "tokenFile" else ways[second].name  # a path, or a Secret
            yield invalid((*at, second), where, "there is also a token", "remove one of the two")

    def files(self, directory: str) -> "CredentialFiles":
        """Return the files with the service's credentials, if Secrets are mounted in a directory."""
        token, user = self.token_secret_ref, self.basic_auth_secret_ref
        return CredentialFiles(
            self.token_file if token is None else secret_file(directory, token.name, token.key),
            "" if user is None else secret_file(directory, user.name, USERNAME),
            "" if user is None else secret_file(directory, user.name, PASSWORD),
        )

    def service(self) -> Service:
        """Return the service to query, with its credentials."""
        given = {"tokenFile": self.token_file, "caFile": self.ca_file}
        refs = {"tokenSecretRef": self.token_secret_ref, "basicAuthSecretRef": self.basic_auth_secret_ref}
        secrets = tuple((field, ref.name) for field, ref in refs.items() if ref is not None)
        shows = "a password" if self.basic_auth_secret_ref else "a token" if self.token_file or secrets else ""
        return Service(
            self.url,
            "address",
            tuple((field, path) for field, path in given.items() if path),
            secrets,
            (("token", "write tokenSecretRef: {name, key}"),) if self.token else (),
            shows,
            "write basicAuthSecretRef: {name}",
            "insecureSkipVerify" if self.insecure_skip_verify else "",
        )


class CredentialFiles(NamedTuple):
    """The files of a token, or of a user and a password; empty if there is none."""

    token: str = ""
    user: str = ""
    password: str = ""


def wrong_address(at: At, address: str) -> Iterator[Fault]:
    """Yield the error in the address, if any."""
    if not address.lower().startswith(("http://", "https://")):
        yield invalid(at, without_password(address), "must be a URL that begins with http:// or https://")
