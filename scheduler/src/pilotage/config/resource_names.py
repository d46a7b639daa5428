"""Names of extended resources, and Kubernetes' messages about invalid ones."""

import re

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LONGEST_NAME, _LONGEST_PREFIX = 63, 253
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_PREFIX_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def unqualified(name: str) -> list[str]:
    """The errors in a qualified name (`name` or `example.com/name`)."""
    *prefixes, local = name.split("/")
    if len(prefixes) > 1:
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    wrong = [f"prefix part {why}" for prefix in prefixes for why in _wrong_prefix(prefix)]
    return wrong + [f"name part {why}" for why in _wrong_name(local)]


def is_extended(name: str) -> bool:
    """Whether a qualified name is an extended resource: with a prefix other than Kubernetes' own."""
    native = "/" not in name or "kubernetes.io/" in name or name.startswith("requests.")
    # Quotas use this longer name.
    return not native and not unqualified(f"requests.{name}")


def _wrong_prefix(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    wrong = [f"must be no more than {_LONGEST_PREFIX} bytes"] if len(prefix.encode()) > _LONGEST_PREFIX else []
    return wrong if re.fullmatch(_SUBDOMAIN, prefix) else [*wrong, _PREFIX_RULE]


def _wrong_name(name: str) -> list[str]:
    wrong = [] if name else ["must be non-empty"]
    wrong += [f"must be no more than {_LONGEST_NAME} bytes"] if len(name.encode()) > _LONGEST_NAME else []
    return wrong if re.fullmatch(_NAME, name) else [*wrong, _NAME_RULE]
