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
    """An extended resource that an extender looks after."""

    name: ResourceName = Field(description="The resource's name, such as example.com/gpu.")
    ignored_by_scheduler: StrictBool = Field(
        default=False, description="Whether counting it is left to the extender. Without it: false."
    )


class SecretKey(Part):
    """One key of a Secret that the chart mounts for the scheduler (scheduler.credentials.secrets)."""

    name: Annotated[str, StringConstraints(max_length=253, pattern=rf"^{SUBDOMAIN}$")] = Field(
        description="The Secret's name, in the namespace of the release."
    )
    key: SecretKeyName = Field(description="The key in it, such as tls.key.")


class ExtenderTLS(Part):
    """How to speak TLS with an extender."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!(has(self.insecure) && self.insecure) || (!has(self.caData) && !has(self.caFile))",
                "insecure trusts anybody, so a CA is never looked at; remove insecure, or caData and caFile",
            ),
            (
                "(has(self.certData) || has(self.certFile) || has(self.certSecretRef)) == "
                "(has(self.keyData) || has(self.keyFile) || has(self.keySecretRef))",
                "a certificate and its key belong together; give both, or neither",
            ),
            (
                "!(has(self.keySecretRef) && (has(self.keyData) || has(self.keyFile))) && "
                "!(has(self.certSecretRef) && (has(self.certData) || has(self.certFile)))",
                "a Secret and something else are two answers to one question; leave one of the two out",
            ),
        )
    )

    insecure: StrictBool | None = Field(default=None, description="Whether to talk to anybody who answers.")
    server_name: Annotated[str, StringConstraints(min_length=1, max_length=253)] | None = Field(
        default=None, description="The name in the extender's certificate, if it is not that of urlPrefix."
    )
    cert_secret_ref: SecretKey | None = Field(default=None, description="Our certificate: in a Secret.")
    key_secret_ref: SecretKey | None = Field(default=None, description="The key to it: in a Secret.")
    cert_file: FilePath | None = Field(
        default=None, description="Our certificate: a file below /etc/pilotage/credentials in the scheduler's pod."
    )
    key_file: FilePath | None = Field(default=None, description="The key to it: a file there.")
    ca_file: FilePath | None = Field(default=None, description="Who vouches for the extender: a file there.")
    cert_data: Base64 | None = Field(default=None, description="Our certificate: PEM in base64.")
    key_data: Base64 | None = Field(
        default=None, description="Refused in new specs: whoever reads the profile reads the key. Write keySecretRef."
    )
    ca_data: Base64 | None = Field(default=None, description="Who vouches for the extender: PEM in base64.")


class Extender(Part):
    """An HTTP service that takes part in decisions; the fields are those of KubeSchedulerConfiguration."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "has(self.filterVerb) || has(self.prioritizeVerb) || has(self.preemptVerb) || has(self.bindVerb)",
                "an extender without a verb is never asked; "
                "give one of filterVerb, prioritizeVerb, preemptVerb and bindVerb",
            ),
            (
                "!has(self.prioritizeVerb) || has(self.weight)",
                "scores need a weight; add weight beside prioritizeVerb",
            ),
            (
                "self.urlPrefix.startsWith('https://') || "
                "(!has(self.tlsConfig) && !(has(self.enableHTTPS) && self.enableHTTPS))",
                "TLS is spoken only with https://; "
                "let urlPrefix start with https://, or remove enableHTTPS and tlsConfig",
            ),
        )
    )

    url_prefix: Annotated[str, StringConstraints(max_length=2048, pattern=r"^https?://[^/?#\s]+[^?#\s]*$")] = Field(
        description="Where the extender listens, such as http://gpu-broker.tools:8888/scheduler; verbs are appended."
    )
    filter_verb: Verb | None = Field(default=None, description="Its path for filtering nodes, if it does.")
    preempt_verb: Verb | None = Field(default=None, description="Its path for judging victims, if it does.")
    prioritize_verb: Verb | None = Field(default=None, description="Its path for scoring nodes, if it does.")
    bind_verb: Verb | None = Field(default=None, description="Its path for binding pods, if it does; one extender may.")
    weight: StrictInt | None = Field(
        default=None, ge=1, le=1_000_000, description="How much its scores count; needed with prioritizeVerb."
    )
    http_timeout: Duration | None = Field(
        default=None, alias="httpTimeout", description="How long to wait for an answer. Without it: 5s."
    )
    enable_https: StrictBool | None = Field(
        default=None,
        alias="enableHTTPS",
        description="Whether to trust any certificate where tlsConfig names no CA. urlPrefix says whether TLS is "
        "spoken; without this, the scheduler's pod knows whom to trust.",
    )
    tls_config: ExtenderTLS | None = Field(
        default=None,
        description="Whom to trust, and who we are. Data wins over files.",
    )
    node_cache_capable: StrictBool | None = Field(
        default=None, description="Whether it knows the nodes itself, so that their names are enough for it."
    )
    managed_resources: list[ManagedResource] | None = Field(
        default=None,
        max_length=64,
        description="It is asked only about pods that want one of these. Without it: about all pods.",
        json_schema_extra=list_by("name"),
    )
    ignorable: StrictBool | None = Field(
        default=None, description="Whether pods are scheduled without it when it fails."
    )
