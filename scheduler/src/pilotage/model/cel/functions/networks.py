"""IP addresses and networks."""

from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.errors import EvaluationError, no_overload
from pilotage.model.cel.networks import Address, InvalidAddress, Network


def _ip(text: str) -> Address:
    try:
        return Address.parse(text)
    except InvalidAddress as error:
        raise EvaluationError(str(error)) from error


def _cidr(text: str) -> Network:
    try:
        return Network.parse(text)
    except InvalidAddress as error:
        raise EvaluationError(str(error)) from error


def _is(parse: Any) -> Any:
    def decide(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return decide


def _contains_ip_text(network: Network, text: str) -> bool:
    try:
        return network.has(_ip(text))
    except EvaluationError:
        raise no_overload() from None  # kube-scheduler loses the reason here


def _contains_cidr_text(network: Network, text: str) -> bool:
    return network.includes(_cidr(text))


declare("ip", ("(string) -> ip", _ip))
declare("isIP", ("(string) -> bool", _is(_ip)))
declare("ip.isCanonical", ("(string) -> bool", lambda text: str(_ip(text)) == text))
declare("family", ("ip.() -> int", lambda address: 6 if address.is_v6 else 4))
declare("isUnspecified", ("ip.() -> bool", lambda address: address.number == 0))
declare("isLoopback", ("ip.() -> bool", lambda address: address.known().is_loopback))
declare("isLinkLocalMulticast", ("ip.() -> bool", Address.is_link_local_multicast))
declare("isLinkLocalUnicast", ("ip.() -> bool", lambda address: address.known().is_link_local))
declare("isGlobalUnicast", ("ip.() -> bool", Address.is_global_unicast))
declare("string", ("(ip) -> string", str), ("(cidr) -> string", str))
declare("cidr", ("(string) -> cidr", _cidr))
declare("isCIDR", ("(string) -> bool", _is(_cidr)))
declare("containsIP", ("cidr.(string) -> bool", _contains_ip_text), ("cidr.(ip) -> bool", Network.has))
declare("containsCIDR", ("cidr.(string) -> bool", _contains_cidr_text), ("cidr.(cidr) -> bool", Network.includes))
declare("ip", ("cidr.() -> ip", lambda network: network.address))
declare("prefixLength", ("cidr.() -> int", lambda network: network.length))
declare("masked", ("cidr.() -> cidr", Network.masked))
