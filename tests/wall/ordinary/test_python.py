"""Python as projects use it: many processes, threads, loops and files; virtual environments; tests with a database."""

import pytest

from tests.wall.ordinary.conftest import Desk, Toolchain, needs

pytestmark = [pytest.mark.django_db, needs("python3")]

PARALLEL = """
import multiprocessing as mp
from multiprocessing import shared_memory

def square(n):
    return n * n

def fill(name, turn, done):
    with turn:
        memory = shared_memory.SharedMemory(name)
        memory.buf[0] += 1
        memory.close()
    done.release()

def work(way):
    ctx = mp.get_context(way)
    with ctx.Pool(4) as pool:
        assert pool.map(square, range(100)) == [n * n for n in range(100)]
    memory = shared_memory.SharedMemory(create=True, size=1 << 20)
    turn, done = ctx.Lock(), ctx.Semaphore(0)
    workers = [ctx.Process(target=fill, args=(memory.name, turn, done)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for _ in workers:
        assert done.acquire(timeout=120)
    for worker in workers:
        worker.join()
    print(way, memory.buf[0])
    memory.close()
    memory.unlink()

if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        work(way)
"""


def test_processes_pools_and_shared_memory(desk: Desk) -> None:
    desk.write("parallel.py", PARALLEL)
    assert desk.runs("python3 parallel.py") == "fork 4\nspawn 4\nforkserver 4"


LOOP = """
import asyncio, socket

class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport
    def datagram_received(self, data, address):
        self.transport.sendto(data.upper(), address)

class Ask(asyncio.DatagramProtocol):
    def __init__(self, answer):
        self.answer = answer
    def connection_made(self, transport):
        transport.sendto(b"udp")
    def datagram_received(self, data, address):
        self.answer.set_result(data)

async def upper(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()

async def ask(reader, writer, word):
    writer.write(word + b"\\n")
    answer = await reader.readline()
    writer.close()
    return answer.strip().decode()

async def main():
    loop = asyncio.get_running_loop()
    for host in ("127.0.0.1", "::1"):
        server = await asyncio.start_server(upper, host, 0)
        port = server.sockets[0].getsockname()[1]
        print(*await asyncio.gather(*[ask(*await asyncio.open_connection(host, port), b"tcp") for _ in range(20)]))
        server.close()
    await asyncio.start_unix_server(upper, "/tmp/echo.sock")
    print(await ask(*await asyncio.open_unix_connection("/tmp/echo.sock"), b"unix"))
    echo, _ = await loop.create_datagram_endpoint(Echo, ("127.0.0.1", 0))
    answer = loop.create_future()
    await loop.create_datagram_endpoint(lambda: Ask(answer), remote_addr=echo.get_extra_info("sockname"))
    print((await asyncio.wait_for(answer, 60)).decode())
    shell = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print((await shell.communicate(b"pipe"))[0].decode())
    print(socket.gethostbyname("localhost"), await loop.run_in_executor(None, lambda: "thread"))

asyncio.run(main())
"""


def test_servers_and_clients_of_a_loop(desk: Desk) -> None:
    desk.write("loop.py", LOOP)
    twenty = " ".join(["TCP"] * 20)
    assert desk.runs("python3 loop.py").split("\n") == [twenty, twenty, "UNIX", "UDP", "pipe", "127.0.0.1 thread"]


@needs("curl")
def test_a_web_server_in_the_background_of_a_command(desk: Desk) -> None:
    script = """
    python3 -m http.server 8123 --bind 127.0.0.1 >server.log 2>&1 &
    curl --silent --retry 50 --retry-connrefused --retry-delay 1 http://127.0.0.1:8123/README.md
    python3 -c "import urllib.request as u; print(u.urlopen('http://localhost:8123/calc.py').status)"
    kill %1; wait %1 || echo "ended with $?"
    """
    printed = desk.runs(script)
    assert printed.startswith("# calc\n")
    assert printed.endswith("200\nended with 143")


MANY = """
import mmap, os, tempfile, threading

def held_open():
    files = [tempfile.TemporaryFile() for _ in range(800)]
    for number, file in enumerate(files):
        file.write(b"x" * number)
    return sum(file.tell() for file in files)

def threads():
    ready, total = threading.Barrier(201), []
    def body(n):
        ready.wait(120)
        total.append(n)
    all_ = [threading.Thread(target=body, args=(n,)) for n in range(200)]
    for each in all_:
        each.start()
    ready.wait(120)
    for each in all_:
        each.join()
    return sum(total)

def sparse():
    with open("sparse.bin", "w+b") as file:
        file.truncate(1 << 30)
        with mmap.mmap(file.fileno(), 1 << 30) as view:
            view[(1 << 30) - 1] = 7
            view[1 << 29] = 5
            return view[(1 << 30) - 1] + view[1 << 29], os.stat("sparse.bin").st_blocks < 10_000

print(held_open(), threads(), *sparse())
print(len(bytearray(1 << 30)) >> 20)
"""


def test_many_files_threads_and_much_memory(desk: Desk) -> None:
    desk.write("many.py", MANY)
    assert desk.runs("python3 many.py; rm sparse.bin") == "319600 19900 12 True\n1024"


def test_a_virtual_environment_with_pip(desk: Desk) -> None:
    script = """
    python3 -m venv .venv
    . .venv/bin/activate
    pip --version | cut -d' ' -f1
    mkdir -p demo/src/demo
    echo 'WORD = "installed"' > demo/src/demo/__init__.py
    python - <<'END'
    import zipfile
    with zipfile.ZipFile("demo-1.0-py3-none-any.whl", "w") as wheel:
        wheel.write("demo/src/demo/__init__.py", "demo/__init__.py")
        wheel.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: demo\\nVersion: 1.0\\n")
        wheel.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("demo-1.0.dist-info/RECORD", "")
    END
    pip install --quiet --no-index ./demo-1.0-py3-none-any.whl
    python -c 'import demo; print(demo.WORD)'
    """
    assert desk.runs("\n".join(line.strip() if "wheel." not in line else line[4:] for line in script.split("\n"))) == (
        "pip\ninstalled"
    )


PROJECT_TESTS = """
import multiprocessing
import os
import sqlite3
import tempfile
from concurrent.futures import ProcessPoolExecutor

import pytest


def add(name):
    with sqlite3.connect(name, timeout=60) as db:
        db.execute("insert into seen values (?)", (os.getpid(),))


@pytest.fixture
def database(tmp_path):
    name = tmp_path / "test.db"
    with sqlite3.connect(name) as db:
        db.execute("create table seen (pid)")
    return name


@pytest.mark.parametrize("way", ["fork", "spawn"])
@pytest.mark.parametrize("number", range(5))
def test_processes_share_a_temporary_database(database, way, number):
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context(way)) as pool:
        list(pool.map(add, [database] * 12))
    with sqlite3.connect(database) as db:
        assert db.execute("select count(*) from seen").fetchone() == (12,)


def test_output_and_temporary_files(capfd, monkeypatch):
    os.system("echo from a child")
    assert capfd.readouterr().out == "from a child\\n"
    with tempfile.NamedTemporaryFile() as file:
        assert file.name.startswith("/tmp/")
"""


@pytest.mark.parametrize("options", ["", "-n 3"])
def test_pytest_with_multiprocessing_and_a_temporary_database(desk: Desk, toolchain: Toolchain, options: str) -> None:
    desk.write("project/test_it.py", PROJECT_TESTS)
    printed = desk.runs(f"cd project; {toolchain.python} -m pytest -q -p no:cacheprovider {options} .")
    assert "11 passed" in printed


ODD = """
import datetime, locale, os, pathlib, sys, time
name = "Prüfung 検査 \\N{GRINNING FACE}.txt"
pathlib.Path(name).write_text("ok")
deep = pathlib.Path(*["d" * 200] * 10)
deep.mkdir(parents=True)
(deep / "end").write_text("deep")
print(name in os.listdir("."), (deep / "end").read_text(), len(str(deep)))
print(sys.getfilesystemencoding(), locale.setlocale(locale.LC_ALL, ""), time.tzname[0])
print(os.path.expanduser("~"), __import__("getpass").getuser(), __import__("pwd").getpwuid(os.getuid()).pw_name)
"""


def test_locale_time_zone_users_and_odd_names(desk: Desk) -> None:
    desk.write("odd.py", ODD)
    assert desk.runs("python3 odd.py; cat Pr*.txt; echo; find . -name end | wc -l").split("\n") == [
        "True deep 2009",
        "utf-8 C.UTF-8 UTC",
        "/home/agent agent agent",
        "ok",
        "1",
    ]
