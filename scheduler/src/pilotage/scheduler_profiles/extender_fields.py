"""The fields of a SchedulerProfile for extenders: HTTP services that take part in decisions."""

from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StringConstraints

from pilotage.model.label_syntax import SUBDOMAIN
from pilotage.scheduler_profiles.schema_parts import Duration, Part, list_by, rules

ResourceName = Annotated[str, StringConstraints(min_length=1, max_length=317)]
Verb = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Base64 = Annotated[str, Field(min_length=1, max_length=65536, json_schema_extra={"format": "byte"})]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
SecretKeyName = Annotated[str, StringConstraints(max_length=253, pattern=r"^[-_a-zA-Z0-9][-._a-zA-Z0-9]*$")]


class ManagedResource(Part):
    """An extended resource that an extender manages."""

    name: ResourceName = Field(description="The resource's name, such as example.com/gpu.")
    ignored_by_scheduler: StrictBool = Field(
        default=False, description="Whether only the extender counts it. Default: false."
    )


class SecretKey(Part):
    """One key of a Secret that the chart mounts for the scheduler (scheduler.credentials.secrets)."""

    name: Annotated[str, StringConstraints(max_length=253, pattern=rf"^{SUBDOMAIN}$")] = Field(
        description="The Secret's name, in the namespace of the release."
    )
    key: SecretKeyName = Field(description="The key in it, such as tls.key.")


class ExtenderTLS(Part):
    """TLS settings for an extender."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!(has(self.insecure) && self.insecure) || (!has(self.caData) && !has(self.caFile))",
                "insecure disables verification, so a CA has no effect; remove insecure, or caData and caFile",
            ),
            (
                "(has(self.certData) || has(self.certFile) || has(self.certSecretRef)) == "
                "(has(self.keyData) || has(self.keyFile) || has(self.keySecretRef))",
                "a certificate needs its key, and a key its certificate; set both, or neither",
            ),
            (
                "!(has(self.keySecretRef) && (has(self.keyData) || has(self.keyFile))) && "
                "!(has(self.certSecretRef) && (has(self.certData) || has(self.certFile)))",
                "a Secret cannot be combined with data or a file; remove one of the two",
            ),
        )
    )

    insecure: StrictBool | None = Field(
        default=None, description="Whether to skip the verification of the extender's certificate."
    )
    server_name: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        default=None, description="The name in the extender's certificate, if it differs from the host of urlPrefix."
    )
    cert_secret_ref: SecretKey | None = Field(default=None, description="The client certificate, in a Secret.")
    key_secret_ref: SecretKey | None = Field(default=None, description="Its key, in a Secret.")
    cert_file: FilePath | None = Field(
        default=None,
        description="The client certificate, as a file below /etc/pilotage/credentials in the scheduler's pod.",
    )
    key_file: FilePath | None = Field(default=None, description="Its key, as a file there.")
    ca_file: FilePath | None = Field(default=None, description="The CA of the extender's certificate, as a file there.")
    cert_data: Base64 | None = Field(default=None, description="The client certificate, as base64-encoded PEM.")
    key_data: Base64 | None = Field(
        default=None,
        description="Rejected in new specs: all users who can read the profile can see the key. Use keySecretRef.",
    )
    ca_data: Base64 | None = Field(
        default=None, description="The CA of the extender's certificate, as base64-encoded PEM."
    )


class Extender(Part):
    """An HTTP service that takes part in decisions; the fields are those of KubeSchedulerConfiguration."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "has(self.filterVerb) || has(self.prioritizeVerb) || has(self.preemptVerb) || has(self.bindVerb)",
                "an extender without a verb is never called; "
                "set one of filterVerb, prioritizeVerb, preemptVerb and bindVerb",
            ),
            (
                "!has(self.prioritizeVerb) || has(self.weight)",
                "scores need a weight; add weight beside prioritizeVerb",
            ),
            (
                "self.urlPrefix.startsWith('https://') || "
                "(!has(self.tlsConfig) && !(has(self.enableHTTPS) && self.enableHTTPS))",
                "TLS requires https://; start urlPrefix with https://, or remove enableHTTPS and tlsConfig",
            ),
        )
    )

    url_prefix: Annotated[str, StringConstraints(max_length=2048, pattern=r"^https?://[^/?#\s]+[^?#\s]*$")] = Field(
        description="The extender's URL, such as http://gpu-broker.tools:8888/scheduler; verbs are appended."
    )
    filter_verb: Verb | None = Field(default=None, description="The path for filtering nodes, if it does.")
    preempt_verb: Verb | None = Field(default=None, description="The path for checking preemption victims, if it does.")
    prioritize_verb: Verb | None = Field(default=None, description="The path for scoring nodes, if it does.")
    bind_verb: Verb | None = Field(
        default=None, description="The path for binding pods, if it does; only one extender can."
    )
    weight: StrictInt | None = Field(
        default=None, ge=1, le=1_000_000, description="The weight of its scores; required with prioritizeVerb."
    )
    http_timeout: Duration | None = Field(
        default=None, alias="httpTimeout", description="The timeout of a request. Default: 5s."
    )
    enable_https: StrictBool | None = Field(
        default=None,
        alias="enableHTTPS",
        description="Whether to accept any certificate if tlsConfig has no CA. urlPrefix determines whether TLS is "
        "used. Default: the CAs of the scheduler's image are used.",
    )
    tls_config: ExtenderTLS | None = Field(
        default=None,
        description="The CA and the client certificate. Data takes precedence over files.",
    )
    node_cache_capable: StrictBool | None = Field(
        default=None, description="Whether it caches nodes itself, so that requests contain only their names."
    )
    managed_resources: list[ManagedResource] | None = Field(
        default=None,
        max_length=64,
        description="It is called only for pods that request one of these. Default: for all pods.",
        json_schema_extra=list_by("name"),
    )
    ignorable: StrictBool | None = Field(default=None, description="Whether pods are scheduled without it if it fails.")
