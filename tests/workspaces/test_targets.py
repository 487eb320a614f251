"""host:port in one form, and which addresses are of the open internet."""

import pytest

from workspaces.targets import BadTarget, is_global, normal, public


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("packages.example.org:443", "packages.example.org:443"),
        ("Packages.Example.org.:0443", "packages.example.org:443"),
        ("xn--bcher-kva.example:80", "xn--bcher-kva.example:80"),
        ("a_b.example:65535", "a_b.example:65535"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("[2606:4700:0::1111]:443", "[2606:4700::1111]:443"),
        ("db:5432", "db:5432"),
    ],
)
def test_a_target_has_one_form(text: str, form: str) -> None:
    assert normal(text) == normal(form) == form


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no name of a host"),
        ("packages.example.org", "as in packages.example.org:443"),
        ("https://packages.example.org:443", "leave out https://"),
        ("packages.example.org:443/simple", "leave out https://"),
        ("user@packages.example.org:443", "user"),
        ("*.packages.example.org:443", "no wildcards"),
        ("packages.example.org:*", "no wildcards"),
        ("packages.example.org:0", "1 to 65535"),
        ("packages.example.org:65536", "1 to 65535"),
        ("packages.example.org:https", "1 to 65535"),
        ("packages.example.org:", "1 to 65535"),
        ("packages.example.org: 443", "1 to 65535"),
        (":443", "no name of a host"),
        ("..:443", "no name of a host"),
        ("-a.example:443", "no name of a host"),
        (f"{'a' * 64}.example:443", "no name of a host"),
        ("2606:4700::1111:443", "stands in brackets"),
        ("[fe80::1%eth0]:443", "zone"),
        ("[2606::x]:443", "no IPv6 address"),
        ("2130706433:80", "four numbers"),
        ("0x7f000001:80", "four numbers"),
        ("0177.0.0.1:80", "four numbers"),
        ("127.1:80", "four numbers"),
        ("1.2.3.4.5:80", "four numbers"),
        ("bücher.example:443", "xn--"),
        ("packages.example.org\u202e:443", "packages.example.org?"),
        ("a\nb:443", "a?b"),
        ("x" * 300, "xn--"),
    ],
)
def test_what_is_no_target_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadTarget) as raised:
        normal(text)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    "text",
    ["localhost:80", "api.localhost:80", "127.0.0.1:80", "10.0.0.1:443", "[::1]:80", "[fd00:ec2::254]:80",
     "169.254.169.254:80", "[::ffff:127.0.0.1]:80"],
)  # fmt: skip
def test_this_machine_and_private_addresses_are_refused_where_they_are_typed(text: str) -> None:
    with pytest.raises(BadTarget, match="private network"):
        public(text)


@pytest.mark.parametrize("text", ["packages.example.org:443", "8.8.8.8:53", "[2606:4700::1111]:443"])
def test_names_and_public_addresses_may_be_typed(text: str) -> None:
    assert public(text) == text


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("127.255.255.254", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("169.254.170.2", False),
        ("100.64.0.1", False),
        ("100.100.100.200", False),
        ("192.0.0.192", False),
        ("168.63.129.16", False),
        ("192.88.99.1", False),
        ("198.18.0.1", False),
        ("0.0.0.0", False),
        ("0.1.2.3", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("::127.0.0.1", False),
        ("::8.8.8.8", False),
        ("fe80::1%eth0", False),
        ("fec0::1", False),
        ("fd00::1", False),
        ("fd00:ec2::254", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:8.8.8.8", False),
        ("::ffff:0:127.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::808:808", True),
        ("64:ff9b:1::808:808", False),
        ("2002:a00:1::", False),
        ("2002:808:808::", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("2001:db8::1", False),
        ("100::1", False),
        ("ff02::1", False),
        ("ff0e::1", False),
    ],
)
def test_only_addresses_of_the_open_internet_count_as_public(address: str, public: bool) -> None:
    assert is_global(address) is public
