"""KubeSchedulerConfiguration v1 (`kubescheduler.config.k8s.io/v1`) with every field of the file.

Fields are camelCase outside and snake_case inside. Defaults are kube-scheduler's; if it also treats an empty value as
absent, or derives the default from other fields, the default is in `defaults`.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    StrictStr,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.durations import Duration

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"

_LARGEST_FLOAT32 = 3.4028235677973366e38


def _whole(bits: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise PydanticCustomError("whole_number", "no whole number of {bits} bits", {"bits": bits})
        return value

    return check


def _number(value: Any) -> float:
    if type(value) not in (int, float) or abs(value) > _LARGEST_FLOAT32:
        raise PydanticCustomError("number", "no number")
    return float(value)


def _bytes(value: Any) -> bytes:
    try:
        return (
            value
            if isinstance(value, bytes)
            else base64.b64decode(value.translate({10: None, 13: None}), validate=True)
        )
    except (AttributeError, binascii.Error, ValueError):
        raise PydanticCustomError("base64", "no base64") from None


def _is_empty(value: Any) -> bool:
    return not value


def _is_unset(value: Any) -> bool:
    return value is None


Int32 = Annotated[int, BeforeValidator(_whole(32))]
Int64 = Annotated[int, BeforeValidator(_whole(64))]
Item = Annotated[StrictStr, BeforeValidator(lambda given: "" if given is None else given)]  # a string of a list or map
Float32 = Annotated[float, BeforeValidator(_number), PlainSerializer(lambda x: int(x) if x.is_integer() else x)]
Bytes = Annotated[bytes, BeforeValidator(_bytes), PlainSerializer(lambda data: base64.b64encode(data).decode())]


class Section(BaseModel):
    """One map of the file: no unknown fields, and null is the same as absent."""

    # Python code uses Python's names; files only the file's names.
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, given: Any) -> Any:
        if given is None:
            return {}
        if not isinstance(given, dict):
            return given
        # A duration does not accept null; an unknown field is an error whatever its value.
        may_be_null = {field.alias for field in cls.model_fields.values() if field.annotation is not Duration}
        return {key: value for key, value in given.items() if value is not None or key not in may_be_null}


class Plugin(Section):
    """A plugin by name; a weight of zero means 1 for scoring."""

    name: StrictStr = ""
    weight: Int32 = 0


class PluginSet(Section):
    """The enabled and disabled plugins of one extension point; `*` disables all."""

    enabled: tuple[Plugin, ...] = Field(default=(), exclude_if=_is_empty)
    disabled: tuple[Plugin, ...] = Field(default=(), exclude_if=_is_empty)

    @property
    def disabled_names(self) -> frozenset[str]:
        """The names of the disabled plugins."""
        return frozenset(plugin.name for plugin in self.disabled)


class Plugins(Section):
    """The plugin sets of a profile: one for each extension point, and one for all points at once."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def at(self, point: ExtensionPoint) -> PluginSet:
        """The plugin set of one extension point."""
        found = getattr(self, point.name.lower())
        assert isinstance(found, PluginSet)
        return found


class PluginConfig(Section):
    """The arguments of one plugin; as written, until the plugin has read them."""

    name: StrictStr = ""
    args: Any = Field(default=None, exclude_if=_is_unset)


class Profile(Section):
    """A scheduler by name, and the plugins for its pods."""

    scheduler_name: StrictStr = ""
    percentage_of_nodes_to_score: Int32 | None = Field(default=None, exclude_if=_is_unset)
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = Field(default=(), exclude_if=_is_empty)


class ManagedResource(Section):
    """An extended resource that an extender manages."""

    name: StrictStr = ""
    ignored_by_scheduler: StrictBool = Field(default=False, exclude_if=_is_empty)


class ExtenderTLS(Section):
    """TLS settings for an extender; data takes precedence over files."""

    insecure: StrictBool = Field(default=False, exclude_if=_is_empty)
    server_name: StrictStr = Field(default="", exclude_if=_is_empty)
    cert_file: StrictStr = Field(default="", exclude_if=_is_empty)
    key_file: StrictStr = Field(default="", exclude_if=_is_empty)
    ca_file: StrictStr = Field(default="", exclude_if=_is_empty)
    cert_data: Bytes = Field(default=b"", exclude_if=_is_empty)
    key_data: Bytes = Field(default=b"", exclude_if=_is_empty)
    ca_data: Bytes = Field(default=b"", exclude_if=_is_empty)


class Extender(Section):
    """An HTTP service that takes part in decisions; it does not implement empty verbs."""

    url_prefix: StrictStr = ""
    filter_verb: StrictStr = Field(default="", exclude_if=_is_empty)
    preempt_verb: StrictStr = Field(default="", exclude_if=_is_empty)
    prioritize_verb: StrictStr = Field(default="", exclude_if=_is_empty)
    weight: Int64 = Field(default=0, exclude_if=_is_empty)
    bind_verb: StrictStr = Field(default="", exclude_if=_is_empty)
    enable_https: StrictBool = Field(default=False, alias="enableHTTPS", exclude_if=_is_empty)
    tls_config: ExtenderTLS | None = Field(default=None, exclude_if=_is_unset)
    http_timeout: Duration = Duration(0)
    node_cache_capable: StrictBool = Field(default=False, exclude_if=_is_empty)
    managed_resources: tuple[ManagedResource, ...] = Field(default=(), exclude_if=_is_empty)
    ignorable: StrictBool = Field(default=False, exclude_if=_is_empty)


class LeaderElection(Section):
    """The settings of leader election."""

    leader_elect: StrictBool = True
    lease_duration: Duration = Duration(0)
    renew_deadline: Duration = Duration(0)
    retry_period: Duration = Duration(0)
    resource_lock: StrictStr = ""
    resource_name: StrictStr = ""
    resource_namespace: StrictStr = ""


class ClientConnection(Section):
    """The connection to the API server, and its rate limit."""

    kubeconfig: StrictStr = ""
    accept_content_types: StrictStr = ""
    content_type: StrictStr = ""
    qps: Float32 = 0.0
    burst: Int32 = 0


class KubeSchedulerConfiguration(Section):
    """The whole file."""

    api_version: StrictStr = ""
    kind: StrictStr = ""
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: StrictBool = True
    enable_contention_profiling: StrictBool = False  # unless profiling is on
    percentage_of_nodes_to_score: Int32 = 0  # kube-scheduler chooses
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[Profile, ...] = ()
    extenders: tuple[Extender, ...] = Field(default=(), exclude_if=_is_empty)
    delay_cache_until_active: StrictBool = Field(default=False, exclude_if=_is_empty)
