"""Kubernetes' CEL extensions: quantities, IP addresses and networks, URLs, versions and named formats."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from uniteddeployment.embedded.apimachinery import names, quantity
from uniteddeployment.embedded.crd.cel.functions import function
from uniteddeployment.embedded.crd.cel.values import NONE, CelError, NoOverloadError, Optional
from uniteddeployment.embedded.crd.formats import FORMATS

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface

# Quantities


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in billionths."""

    nano: int

    def __str__(self) -> str:
        return str(quantity.Quantity(self.nano))


def _quantity(value: Any) -> Quantity:
    if type(value) is Quantity:
        return value
    raise NoOverloadError


def _amount(value: Any) -> int:
    """The right operand: a quantity or an integer."""
    return value * quantity.NANO if type(value) is int else _quantity(value).nano


@function("quantity", "(string) quantity")
def make_quantity(text: str) -> Quantity:
    try:
        return Quantity(quantity.nano(text))
    except quantity.QuantityError as error:
        raise CelError(str(error)) from None


@function("isQuantity", "(string) bool")
def is_quantity(text: str) -> bool:
    try:
        quantity.nano(text)
    except quantity.QuantityError:
        return False
    return True


@function("sign", "quantity.() int")
def sign(value: Any) -> int:
    nano = _quantity(value).nano
    return (nano > 0) - (nano < 0)


@function("isInteger", "quantity.() bool")
def is_integer(value: Any) -> bool:
    return _quantity(value).nano % quantity.NANO == 0


@function("asInteger", "quantity.() int")
def as_integer(value: Any) -> int:
    if not is_integer(value):
        raise CelError("cannot convert value to integer")
    return _quantity(value).nano // quantity.NANO


@function("asApproximateFloat", "quantity.() double")
def as_float(value: Any) -> float:
    return _quantity(value).nano / quantity.NANO


@function("add", "quantity.(quantity) quantity | quantity.(int) quantity")
def add(value: Any, other: Any) -> Quantity:
    return Quantity(_quantity(value).nano + _amount(other))


@function("sub", "quantity.(quantity) quantity | quantity.(int) quantity")
def subtract(value: Any, other: Any) -> Quantity:
    return Quantity(_quantity(value).nano - _amount(other))


# Comparisons of quantities and versions


@function("isGreaterThan", "quantity.(quantity) bool | semver.(semver) bool")
def is_greater(value: Any, other: Any) -> bool:
    return compare_to(value, other) > 0


@function("isLessThan", "quantity.(quantity) bool | semver.(semver) bool")
def is_less(value: Any, other: Any) -> bool:
    return compare_to(value, other) < 0


@function("compareTo", "quantity.(quantity) int | semver.(semver) int")
def compare_to(value: Any, other: Any) -> int:
    if type(value) is Quantity and type(other) is Quantity:
        return (value.nano > other.nano) - (value.nano < other.nano)
    if type(value) is Version and type(other) is Version:
        return (value > other) - (value < other)
    raise NoOverloadError


# Versions

_SEMVER: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
)


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    def _key(self) -> tuple[Any, ...]:
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (self.numbers, not self.pre, parts)

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()


@function("semver", "(string) semver | (string,bool) semver")
def semver(text: str, normalize: bool = False) -> Version:  # noqa: FBT001, FBT002, RUF100  # how CEL calls it
    version = _version(text, normalize=normalize)
    if version is None:
        raise CelError(f"No Major.Minor.Patch elements found in {text!r}")
    return version


@function("isSemver", "(string) bool | (string,bool) bool")
def is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002, RUF100  # how CEL calls it
    return _version(text, normalize=normalize) is not None


def _version(text: str, *, normalize: bool) -> Version | None:
    if normalize:
        core, dash, pre = text.removeprefix("v").partition("-")
        parts = [part.lstrip("0") or "0" for part in core.split(".")]
        text = ".".join([*parts, "0", "0"][: max(3, len(parts))]) + dash + pre
    match = _SEMVER.fullmatch(text)
    if match is None:
        return None
    return Version((int(match[1]), int(match[2]), int(match[3])), tuple(match[4].split(".")) if match[4] else ())


def _number(name: str, index: int) -> None:
    def run(value: Any) -> int:
        if type(value) is not Version:
            raise NoOverloadError
        return value.numbers[index]

    function(name, "semver.() int")(run)


_number("major", 0)
_number("minor", 1)
_number("patch", 2)


# Addresses and networks


def _address(text: Any) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped is not None or "%" in text)
    return None if mapped else address


@function("ip", "(string) ip")
def ip(text: Any) -> Address:
    if type(text) is not str:
        raise NoOverloadError
    address = _address(text)
    if address is None:
        raise CelError(f'IP Address "{text}" parse error during conversion from string')
    return address


@function("isIP", "(string) bool")
def is_ip(text: Any) -> bool:
    return type(text) is str and _address(text) is not None


@function("ip.isCanonical", "(string) bool")
def is_canonical(text: Any) -> bool:
    return bool(str(ip(text)) == text)


def _ip_property(name: str, get: Callable[[Any], Any], result: str = "bool") -> None:
    def run(value: Any) -> Any:
        if not isinstance(value, ipaddress.IPv4Address | ipaddress.IPv6Address):
            raise NoOverloadError
        return get(value)

    function(name, f"ip.() {result}")(run)


_ip_property("family", lambda address: address.version, "int")
_ip_property("isUnspecified", lambda address: address.is_unspecified)
_ip_property("isLoopback", lambda address: address.is_loopback)
_ip_property("isLinkLocalMulticast", lambda a: a.is_multicast and a in _LINK_LOCAL_MULTICAST[a.version])
_ip_property("isLinkLocalUnicast", lambda address: address.is_link_local)
_ip_property("isGlobalUnicast", lambda a: not (a.is_unspecified or a.is_loopback or a.is_multicast or a.is_link_local))
_LINK_LOCAL_MULTICAST: Final[dict[int, Any]] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}


def _interface(text: Any) -> Network | None:
    try:
        return ipaddress.ip_interface(text) if "/" in text else None
    except ValueError:
        return None


@function("cidr", "(string) cidr")
def cidr(text: str) -> Network:
    network = _interface(text)
    if network is None:
        raise CelError(f'CIDR "{text}" parse error during conversion from string')
    return network


@function("isCIDR", "(string) bool")
def is_cidr(text: str) -> bool:
    return _interface(text) is not None


def _network(value: Any) -> Network:
    if isinstance(value, ipaddress.IPv4Interface | ipaddress.IPv6Interface):
        return value
    raise NoOverloadError


@function("containsIP", "cidr.(ip) bool | cidr.(string) bool")
def contains_ip(value: Any, other: Any) -> bool:
    address = ip(other) if type(other) is str else other
    return address in _network(value).network


@function("containsCIDR", "cidr.(cidr) bool | cidr.(string) bool")
def contains_cidr(value: Any, other: Any) -> bool:
    inner = (cidr(other) if type(other) is str else _network(other)).network
    outer = _network(value).network
    return inner.version == outer.version and inner.network_address in outer and inner.prefixlen >= outer.prefixlen


@function("ip", "cidr.() ip")
def cidr_ip(value: Any) -> Address:
    return _network(value).ip


@function("masked", "cidr.() cidr")
def masked(value: Any) -> Network:
    return ipaddress.ip_interface(str(_network(value).network))


@function("prefixLength", "cidr.() int")
def prefix_length(value: Any) -> int:
    return _network(value).network.prefixlen


@function("string", "(ip) string | (cidr) string | (quantity) string")
def to_string(value: Any) -> str:
    if isinstance(value, Quantity | ipaddress.IPv4Address | ipaddress.IPv6Address):
        return str(value)
    raise NoOverloadError


# URLs


@dataclass(frozen=True, slots=True)
class URL:
    """An absolute URL or an absolute path."""

    text: str


def _url(text: str) -> URL | None:
    try:
        parts = urlsplit(text)
        absolute = bool(parts.scheme) or text.startswith("/")
        return URL(text) if absolute and " " not in text and parts.port != -1 else None
    except ValueError:
        return None


@function("url", "(string) url")
def url(text: str) -> URL:
    parsed = _url(text)
    if parsed is None:
        raise CelError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return parsed


@function("isURL", "(string) bool")
def is_url(text: str) -> bool:
    return _url(text) is not None


def _url_part(name: str, get: Callable[[Any], Any], result: str = "string") -> None:
    def run(value: Any) -> Any:
        if type(value) is not URL:
            raise NoOverloadError
        return get(urlsplit(value.text))

    function(name, f"url.() {result}")(run)


_url_part("getScheme", lambda parts: parts.scheme)
_url_part("getHost", lambda parts: parts.netloc.rpartition("@")[2])
_url_part("getHostname", lambda parts: parts.netloc.rpartition("@")[2].partition(":")[0].strip("[]"))
_url_part("getPort", lambda parts: str(parts.port or ""))
_url_part("getEscapedPath", lambda parts: parts.path)
_url_part("getQuery", lambda parts: parse_qs(parts.query, keep_blank_values=True), "map<string,list<string>>")


# Named formats


@dataclass(frozen=True, slots=True)
class Format:
    """A named format: a function from a string to its errors."""

    name: str


def _tested(name: str) -> Callable[[str], list[str]]:
    test = FORMATS[name]
    return lambda text: [] if test(text) else [f"invalid {name}"]


_FORMATS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": names.label,
    "dns1123Subdomain": names.subdomain,
    "dns1035Label": lambda text: [] if re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", text) else [_DNS_1035],
    "dns1123LabelPrefix": lambda text: names.label(text.removesuffix("-") or "-"),
    "dns1123SubdomainPrefix": lambda text: names.subdomain(text.removesuffix("-") or "-"),
    "dns1035LabelPrefix": lambda text: _FORMATS["dns1035Label"](text.removesuffix("-")),
    "qualifiedName": names.label_key,
    "labelValue": names.label_value,
    "uri": _tested("uri"),
    "uuid": _tested("uuid"),
    "byte": _tested("byte"),
    "date": _tested("date"),
    "datetime": _tested("date-time"),
}
_DNS_1035: Final = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"


def _named_format(name: str) -> None:
    function(f"format.{name}", "() format")(lambda: Format(name))


for _name in _FORMATS:
    _named_format(_name)


@function("format.named", "(string) optional<format>")
def named(name: str) -> Optional:
    return Optional(Format(name)) if name in _FORMATS else NONE


@function("validate", "format.(string) optional<list<string>>")
def validate(value: Any, text: str) -> Optional:
    if type(value) is not Format:
        raise NoOverloadError
    errors = _FORMATS[value.name](text)
    return Optional(errors) if errors else NONE
