"""The proxy's reading of requests: what was allowed is what is connected to and asked, and never a private address."""

import io
import ipaddress
from http.client import parse_headers

from hypothesis import strategies as st

from tests.soak.holding import hold
from workspaces import targets
from workspaces.sandbox import heads

HOSTS = st.sampled_from(
    [
        *(
            "index.example",
            "INDEX.example.",
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:10.0.0.1]",
            "0x7f.1",
            "2130706433",
        ),
        *(
            "a@b",
            "a.example@127.0.0.1",
            "index.example#@10.0.0.1",
            "a..b",
            "",
            "xn--a",
            "-a",
            "a_b",
            "[fe80::1%25eth0]",
            "é",
        ),
    ]
) | st.text(max_size=12)
PORTS = st.sampled_from(["", ":", ":80", ":443", ":0", ":65536", ":080", ":8O", ":-1", ":80:80", ":+80", ": 80", ":٣"])
PIECES = st.sampled_from(
    ["GET", "POST", "CONNECT", " ", "  ", "\t", "http://", "HTTP://", "https://", "//", "/", "?", "#", "@"]
)
FIELDS = st.sampled_from(
    [
        *("Host: other.example", "host:x", "Host : x", " folded", "Content-Length: 3", "Content-Length: +3", "X: \x00"),
        *(
            "Transfer-Encoding: chunked",
            "Transfer-Encoding: x, chunked",
            "Connection: host, x",
            "Proxy-Authorization: x",
        ),
        *(
            "X: a\rHost: b",
            "X: a\nHost: b",
            "X",
            ": y",
            "Accept: */*",
            "Upgrade: h2c",
            "Te: trailers",
            "X: é",
            "x-y: z",
        ),
    ]
)
ENDS = st.sampled_from(["HTTP/1.1", "HTTP/1.0", "HTTP/2", "HTTP/1.1 ", "http/1.1", ""])
ADDRESSES = st.one_of(
    st.ip_addresses(),
    st.ip_addresses(network="8.0.0.0/6"),
    st.ip_addresses(network="2600::/16"),
    st.ip_addresses(network="10.0.0.0/8"),
    st.ip_addresses(network="127.0.0.0/8"),
    st.ip_addresses(network="169.254.0.0/16"),
    st.ip_addresses(network="100.64.0.0/10"),
    st.ip_addresses(network="fc00::/7"),
    st.ip_addresses(network="fe80::/10"),
)


def heads_of(draw: st.DrawFn) -> bytes:
    method = draw(st.sampled_from(["GET", "POST", "CONNECT", "get", "G T"]) | PIECES)
    scheme = draw(st.sampled_from(["http://", "http://", "", "HTTP://", "https://", "ftp://", "http:/", "//"]))
    path = draw(
        st.sampled_from(["", "/", "/a?b", "?q", "#f", "/ x", "/\x00", "/é", "\\@127.0.0.1/"]) | st.text(max_size=5)
    )
    url = f"{scheme}{draw(HOSTS)}{draw(PORTS)}{path}"
    lines = [f"{method} {url} {draw(ENDS)}", *draw(st.lists(FIELDS, max_size=5))]
    return "\r\n".join(lines).encode("utf-8", "replace")


def test_a_request_asks_the_host_that_was_allowed() -> None:
    passed: list[str] = []

    def check(head: bytes) -> None:
        try:
            target, first = heads.parse(head)
        except heads.Refused:
            return
        passed.append(target)
        assert targets.normal(target) == target
        assert target.isprintable()
        if not first:
            assert head.startswith(b"CONNECT ")
            return
        line, _, rest = first.partition(b"\r\n")
        assert line.split(b" ")[1].startswith(b"/")
        assert len(line.split(b" ")) == 3
        seen = parse_headers(io.BytesIO(rest))
        assert seen.get_all("Host") == [target.removesuffix(":80")]
        assert seen.get_all("Connection") == ["close"]
        assert not (seen.get("Content-Length") and seen.get("Transfer-Encoding"))
        assert not any(name.lower().startswith("proxy-") for name in seen)
        assert first.count(b"\r\n\r\n") == 1
        assert b"\n" not in first.replace(b"\r\n", b"")
        assert b"\r" not in first.replace(b"\r\n", b"")

    hold(check, st.composite(heads_of)(), few=400)
    assert passed


def test_a_host_and_port_has_one_form() -> None:
    def check(host: str, port: str) -> None:
        try:
            found = targets.normal(host + port)
        except targets.BadTarget:
            return
        assert targets.normal(found) == found
        name, _, number = found.rpartition(":")
        assert 0 < int(number) < 65536
        assert name.strip("[]")

    hold(check, HOSTS, PORTS, few=200)


def is_private(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Say by the standard library alone that an address, or the IPv4 one inside it, is not of the open internet."""
    inner = None
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return any(each.is_private or each.is_multicast or each.is_link_local for each in (address, inner) if each)


def disguised(address: ipaddress.IPv4Address | ipaddress.IPv6Address, way: int) -> str:
    if isinstance(address, ipaddress.IPv6Address):
        return str(address)
    prefixes = ("::ffff:{}", "64:ff9b::{}", "2002:{:02x}{:02x}:{:02x}{:02x}::", "::{}", "{}")
    form = prefixes[way % len(prefixes)]
    return form.format(*address.packed) if ":02x" in form else form.format(address)


def test_no_private_address_counts_as_public() -> None:
    seen = {True: 0, False: 0}

    def check(address: ipaddress.IPv4Address | ipaddress.IPv6Address, way: int) -> None:
        text = disguised(address, way)
        found = targets.is_global(text)
        seen[found] += 1
        assert not (found and is_private(ipaddress.ip_address(text)))

    hold(check, ADDRESSES, st.integers(0, 4), few=300)
    assert min(seen.values()) > 3
