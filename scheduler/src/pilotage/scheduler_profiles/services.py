"""Validates the services that a profile names, and the credentials that they would receive."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pilotage.config.documents import At
from pilotage.config.extender_services import service_of
from pilotage.config.faults import dotted
from pilotage.config.types import Extender as ExtenderConfig
from pilotage.framework.api.plugin import UsesLoad
from pilotage.model.outside_services import OutsideRules, Service, inline_credentials, refusals
from pilotage.plugins.catalogue import BrokenPlugin, PluginCatalogue
from pilotage.plugins.plugin_files import first_line
from pilotage.scheduler_profiles.extender_fields import Extender
from pilotage.scheduler_profiles.resource import PluginEntry, Spec

# A spec with a service that is no longer allowed keeps running, but the scheduler does not call the service.
INLINE_CREDENTIALS, FORBIDDEN_SERVICE = "InlineCredentials", "ForbiddenService"


@dataclass(frozen=True)
class Services:
    """The services of one spec, with its parsed extenders."""

    spec: Spec
    extenders: Sequence[ExtenderConfig]
    catalogue: PluginCatalogue
    rules: OutsideRules

    def complaints(self) -> Iterator[tuple[str, str]]:
        """Yield reason and message for each violation."""
        for at, service, is_asked in self._services():
            for field, text in inline_credentials(service):
                yield INLINE_CREDENTIALS, f"{at}.{field}: {text}"
            for field, text in refusals(service, self.rules) if is_asked else ():
                yield FORBIDDEN_SERVICE, f"{at}.{field}: {text}"

    def _services(self) -> Iterator[tuple[str, Service, bool]]:
        for place, (given, read) in enumerate(zip(self.spec.extenders, self.extenders, strict=True)):
            yield f"spec.extenders[{place}]", replace(service_of(read), secrets=_secrets(given)), True
        for entry in self.spec.plugins:
            if (found := self._of_plugin(entry)) is not None:
                inside, service = found
                yield dotted((f"spec.plugins[name={entry.name}]", "args", *inside)), service, entry.enabled

    def _of_plugin(self, entry: PluginEntry) -> tuple[At, Service] | None:
        known = self.catalogue.entry(entry.name)
        if known is None or not issubclass(known.plugin, UsesLoad):
            return None
        try:
            plugin = known.construct(entry.args or {})
        except BrokenPlugin:
            return None  # not enabled, or reported already
        try:
            return plugin.service() if isinstance(plugin, UsesLoad) else None
        except Exception as error:
            what = f"{type(error).__name__}: {first_line(error)}"
            raise BrokenPlugin(f"cannot determine which services {entry.name} uses: {what}") from error


def _secrets(extender: Extender) -> tuple[tuple[str, str], ...]:
    tls = extender.tls_config
    refs = {} if tls is None else {"certSecretRef": tls.cert_secret_ref, "keySecretRef": tls.key_secret_ref}
    return tuple((f"tlsConfig.{field}", ref.name) for field, ref in refs.items() if ref is not None)
