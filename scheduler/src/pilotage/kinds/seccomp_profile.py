"""Which system calls a pod may make, as the Security Profiles Operator has it."""

from collections.abc import Iterator

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject

PERMITTING = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG")


class SyscallRule(Struct, frozen=True, gc=False, rename="camel"):
    """What happens when one of these system calls is made."""

    names: tuple[str, ...] = ()
    action: str = ""


class SeccompProfileSpec(Struct, frozen=True, gc=False, rename="camel"):
    """All rules of a profile."""

    syscalls: tuple[SyscallRule, ...] = ()
    base_profile_name: str = ""  # of the same namespace; its rules hold too


class SeccompProfile(
    KubeObject, group="security-profiles-operator.x-k8s.io", version="v1beta1", plural="seccompprofiles"
):
    """A profile that pods name by its path."""

    spec: SeccompProfileSpec = SeccompProfileSpec()

    def permitted(self) -> Iterator[str]:
        """Yield the system calls that its own rules let pass."""
        for rule in self.spec.syscalls:
            if rule.action in PERMITTING:
                yield from rule.names


def profile_at(path: str) -> tuple[str, str] | None:
    """Return namespace and name of the profile in a file: localhost/operator/default/nginx.json is default/nginx."""
    *_, namespace, file = ("", *path.split("/"))
    name = file.rpartition(".")[0] if "." in file else file
    return (namespace, name) if namespace and name else None
