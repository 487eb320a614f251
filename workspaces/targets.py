"""host:port as people and programs write it, in one form; and which addresses are of the open internet."""

import ipaddress
import re

LENGTH = 260
SHOWN = 100
"""Characters that a sentence about a bad target shows of it."""
_SHAPE = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[^:]*))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_HERE = ("localhost", ".localhost", ".localdomain")
_UNICAST = ipaddress.ip_network("2000::/3")
"""All of IPv6 that is given out to the open internet (RFC 4291, IANA's registry)."""
_NEVER = tuple(
    ipaddress.ip_network(text)
    for text in ("2002::/16", "2001::/32", "192.88.99.0/24", "192.0.0.0/24", "168.63.129.16/32")
)
"""6to4 and Teredo, whose addresses stand for IPv4 ones; what is kept for protocols (RFC 6890); and the address, of
the open internet by its number, at which an Azure machine reaches its host."""
_EMBEDDED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that stand for an IPv4 one where a network has only IPv6 (RFC 6052)."""


class BadTarget(ValueError):
    """What is wrong with a host:port, in a sentence."""


def normal(text: str) -> str:
    """Return host:port in lower case, without a dot at the end or zeros before the port. Raises BadTarget."""
    shown = "".join(character if character.isprintable() else "?" for character in text[:SHOWN])
    if len(text) > LENGTH or not text.isprintable() or not text.isascii():
        raise BadTarget(f"`{shown}`: write host:port in letters that a name on the net has; others as xn--….")
    if "/" in text or "@" in text:
        raise BadTarget(
            f"`{shown}`: leave out https://, path and user; write host:port, as in packages.example.org:443."
        )
    if "*" in text or "?" in text:
        raise BadTarget(f"`{shown}`: there are no wildcards; write each host:port on its own.")
    found = _SHAPE.fullmatch(text.lower())
    if found is None:
        raise BadTarget(f"`{shown}` is no host:port; an IPv6 address stands in brackets.")
    return f"{_host(found['host'], shown)}:{_port(found['port'], shown)}"


def _port(text: str | None, shown: str) -> int:
    if text is None:
        raise BadTarget(f"`{shown}`: the port is missing; that of https is 443, as in packages.example.org:443.")
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) < 65536:
        raise BadTarget(f"`{shown}`: a port is a number from 1 to 65535.")
    return int(text)


def _host(text: str, shown: str) -> str:
    if text.startswith("["):
        return _bracketed(text[1:-1], shown)
    name = text.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _four_numbers(name, shown)
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise BadTarget(f"`{shown}`: this is no name of a host.")
    return name


def _bracketed(text: str, shown: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise BadTarget(f"`{shown}`: what is in the brackets is no IPv6 address.") from error
    if address.scope_id is not None:
        raise BadTarget(f"`{shown}`: an address with a zone is of this machine's own network.")
    return f"[{address.compressed}]"


def _four_numbers(text: str, shown: str) -> str:
    """Refuse what some programs take for an IPv4 address: one number, octal, hexadecimal, fewer than four."""
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError as error:
        raise BadTarget(f"`{shown}`: an IPv4 address is four numbers from 0 to 255, as in 192.0.2.1.") from error


def public(text: str) -> str:
    """Return `normal(text)`. Raises BadTarget also for what is plainly this machine or a private network.

    A name may still lead there; whoever connects resolves it first and asks is_global.
    """
    target = normal(text)
    host = target.rpartition(":")[0].strip("[]")
    if host == _HERE[0] or host.endswith(_HERE[1:]) or (_is_address(host) and not is_global(host)):
        raise BadTarget(f"`{target}` is this machine or a private network, which no command ever reaches.")
    return target


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdecimal()


def is_global(address: str) -> bool:
    """Return whether an address is of the open internet: no private, link-local, shared, reserved or group one."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found in _EMBEDDED:
            return is_global(str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)))
        if found not in _UNICAST:
            return False
    if any(found in network for network in _NEVER if network.version == found.version):
        return False
    return found.is_global and not found.is_multicast
