"""Seccomp profiles of the Security Profiles Operator."""

from collections.abc import Iterator

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject

PERMITTING = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG")


class SyscallRule(Struct, frozen=True, gc=False, rename="camel"):
    """The action for some system calls."""

    names: tuple[str, ...] = ()
    action: str = ""


class SeccompProfileSpec(Struct, frozen=True, gc=False, rename="camel"):
    """All rules of a profile."""

    syscalls: tuple[SyscallRule, ...] = ()
    base_profile_name: str = ""  # of the same namespace; its rules apply as well


class SeccompProfile(
    KubeObject, group="security-profiles-operator.x-k8s.io", version="v1beta1", plural="seccompprofiles"
):
    """A profile that pods name by its path."""

    spec: SeccompProfileSpec = SeccompProfileSpec()

    def permitted(self) -> Iterator[str]:
        """Yield the system calls that its own rules allow."""
        for rule in self.spec.syscalls:
            if rule.action in PERMITTING:
                yield from rule.names


def profile_at(path: str) -> tuple[str, str] | None:
    """Return namespace and name of a profile by its path: localhost/operator/default/nginx.json is default/nginx."""
    *_, namespace, file = ("", *path.split("/"))
    name = file.rpartition(".")[0] if "." in file else file
    return (namespace, name) if namespace and name else None
