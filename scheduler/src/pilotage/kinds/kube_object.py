"""The base class of kinds: each kind is declared once, and everything that depends on it is derived."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct, StructMeta

from pilotage.model.metadata import Metadata

Scope: TypeAlias = Literal["Cluster", "Namespaced"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")


@dataclass(frozen=True, slots=True)
class ApiKind:
    """How the API serves objects of a kind, and how they are used here."""

    group: str
    version: str
    plural: str
    name: str
    scope: Scope = "Namespaced"
    in_kubernetes: bool = False  # part of Kubernetes: no CustomResourceDefinition is needed
    wakes: bool = True  # a change can help a pending pod; objects of other kinds are only looked up
    watched: bool = True  # the API can list and watch it

    @property
    def title(self) -> str:
        """Return group and kind as kube-scheduler's events name them: storage.k8s.io/CSINode."""
        return f"{self.group}/{self.name}" if self.group else self.name

    @property
    def api_version(self) -> str:
        """Return the apiVersion of manifests: storage.k8s.io/v1."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """Return the path of its group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of all objects, of those of a namespace, or of one object."""
        middle = f"/namespaces/{namespace}" if namespace else ""
        return f"{self.root}{middle}/{self.plural}" + (f"/{name}" if name else "")

    def __str__(self) -> str:
        """Return the name in definitions and roles: pods, csinodes.storage.k8s.io."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def problems(self) -> list[str]:
        """Return the errors in a declaration."""
        found = []
        if self.group and not all(map(_LABEL.fullmatch, self.group.split("."))):
            found.append(f'group must be like "power.example.com", not {self.group!r:.60}')
        if not _VERSION.fullmatch(self.version):
            found.append(f'version must be like "v1" or "v1alpha1", not {self.version!r:.60}')
        if not _LABEL.fullmatch(self.plural):
            found.append(f'plural must be like "rackpowers", not {self.plural!r:.60}')
        if self.scope not in ("Cluster", "Namespaced"):
            found.append(f'scope must be "Cluster" or "Namespaced", not {self.scope!r:.60}')
        return found


class KindMeta(StructMeta):
    """Reads the declaration of a kind from its class statement."""

    api: ApiKind

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        group: str | None = None,
        version: str = "",
        plural: str = "",
        scope: Scope = "Namespaced",
        kind: str = "",
        in_kubernetes: bool = False,
        wakes: bool = True,
        watched: bool = True,
        **options: Any,
    ) -> "KindMeta":
        """Create the class; `kind` is the API's name if the class has another one."""
        made = super().__new__(mcs, name, bases, namespace, **options)
        if group is not None:
            made.api = ApiKind(group, version, plural, kind or name, scope, in_kubernetes, wakes, watched)
            if problems := made.api.problems():
                raise TypeError(f"{name}: {'; '.join(problems)}")
        elif not hasattr(made, "api") and namespace.get("__module__") != __name__:
            raise TypeError(f'{name} must declare its API: group="power.example.com", version="v1", plural="..."')
        return made


class KubeObject(Struct, metaclass=KindMeta, gc=False, rename="camel"):
    """An object of the API; the class of a kind declares the fields that are read, and all others are skipped."""

    api: ClassVar[ApiKind]

    metadata: Metadata

    def holds_something(self) -> bool:
        """Return whether the last known state must count while the object cannot be decoded."""
        return False

    def says_the_same_as(self, other: Any) -> bool:
        """Return whether no field that plugins read differs, so that cached results stay valid."""
        return False
