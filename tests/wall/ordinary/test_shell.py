"""What shell scripts do: jobs, signals, pipes, locks, temporary files, archives, and many or large files."""

import pytest

from tests.wall.ordinary.conftest import Desk, needs

pytestmark = pytest.mark.django_db


def test_jobs_signals_traps_and_pipes(desk: Desk) -> None:
    script = """
    trap 'echo told' USR1
    kill -USR1 $$
    (exit 3) & first=$!
    (sleep 0.1; echo late) &
    wait $first || echo "job: $?"
    wait
    diff <(printf 'a\\nb\\n') <(printf 'a\\nc\\n') | grep -c '^[<>]' || true
    cat <<END | tr a-z A-Z
    here $((6 * 7))
END
    timeout 0.2 sleep 60 || echo "timeout: $?"
    mkfifo pipe; echo through > pipe & read -r line < pipe; echo "$line"
    sleep 60 & kill %%; wait %% || echo "ended: $?"
    (trap '' TERM; exec true); (ulimit -n 100; ulimit -n)
    trap 'echo bye' EXIT
    coproc CAT { cat; }; echo co >&"${CAT[1]}"; read -r line <&"${CAT[0]}"; echo "$line"
    """
    assert desk.runs(script).split("\n") == [
        "told",
        "job: 3",
        "late",
        "2",
        "    HERE 42",
        "timeout: 124",
        "through",
        "ended: 143",
        "100",
        "co",
        "bye",
    ]


@needs("flock", "tail")
def test_locks_temporary_files_and_files_that_are_watched(desk: Desk) -> None:
    script = """
    name=$(mktemp); folder=$(mktemp -d)
    for n in $(seq 20); do
      ( flock 9; count=$(cat $name); echo $((${count:-0} + 1)) > $name ) 9> $folder/lock &
    done
    wait; cat $name
    touch log
    (sleep 0.3; echo line >> log; sleep 0.3; echo last >> log) &
    timeout 60 sed '/last/q' <(timeout 60 tail -n +1 -f log) || true
    """
    assert desk.runs(script) == "20\nline\nlast"


def test_what_runs_can_be_looked_at(desk: Desk) -> None:
    script = """
    sleep 60 & pid=$!
    ps -o comm= -p $pid
    ps aux | grep -c '[0-9] sleep 60'
    top -b -n 1 -p $pid | grep -c ' sleep$'
    pgrep -x sleep | wc -l
    kill -0 $pid && kill $pid
    nproc >/dev/null; free >/dev/null; uptime >/dev/null; df . >/dev/null; uname -r >/dev/null; id -un
    """
    if needs("ps", "top", "free").args[0]:
        pytest.skip("not installed on this machine: procps")
    assert desk.runs(script) == "sleep\n1\n1\n1\nagent"


def test_many_files_are_found_changed_and_archived(desk: Desk) -> None:
    script = """
    mkdir many; cd many
    seq 0 49 | xargs mkdir
    seq 2000 | xargs -n 50 sh -c 'for n; do echo "old $n" > $((n % 50))/$n.txt; done' _
    find . -name '*.txt' -print0 | xargs -0 -P 4 -n 100 sed -i s/old/new/
    grep -rl new . | wc -l
    cd ..; tar -czf many.tar.gz many; tar -cf - many | gzip -9 > again.tar.gz
    mkdir out; tar -xzf many.tar.gz -C out; diff -r many out/many && echo same
    cp -a many copy; ln many/1/1.txt hard; ln -s many/1 soft; cat hard soft/1.txt
    find many copy out -type f | xargs rm; rm -r many copy out
    gzip -t many.tar.gz again.tar.gz
    """
    assert desk.runs(script).split("\n") == ["2000", "same", "new 1", "new 1"]


@needs("zip", "unzip")
def test_zip_archives(desk: Desk) -> None:
    assert desk.runs("zip -qr all.zip . && unzip -q all.zip -d out && diff calc.py out/calc.py && echo same") == "same"


def test_large_files_and_a_large_sort(desk: Desk) -> None:
    script = """
    dd if=/dev/zero of=large bs=1M count=200 status=none; stat -c %s large; rm large
    set +o pipefail  # `head` ends those that write to it
    seq 1000000 -1 1 | sort -n --buffer-size=4M --parallel=2 | head -2
    fallocate -l 50M space; truncate -s 1G sparse; stat -c %s space sparse; rm space sparse
    head -c 1000000 /dev/urandom | sha256sum | wc -c
    yes | head -c 100000000 | wc -c
    """
    assert desk.runs(script).split("\n") == ["209715200", "1", "2", "52428800", "1073741824", "68", "100000000"]


def test_scripts_are_made_executable_and_run(desk: Desk) -> None:
    script = r"""
    mkdir -p scripts "with space" ~/.cache ~/bin
    printf '#!/usr/bin/env bash\necho "$0 $#"\n' > scripts/go; chmod +x scripts/go
    scripts/go a 'b c'
    cp scripts/go "with space/gö"; "./with space/gö"
    printf '#!/bin/sh\nexit 4\n' > /tmp/four; chmod 755 /tmp/four; /tmp/four || echo $?
    echo cached > ~/.cache/x; cat ~/.cache/x; umask 077; touch private; stat -c %a private
    echo $(( $(date +%Y) > 2000 )) "$(hostname)" "$LANG" "${EDITOR-none}"
    """
    assert desk.runs(script).split("\n") == [
        "scripts/go 2",
        "./with space/gö 0",
        "4",
        "cached",
        "600",
        "1 sandbox C.UTF-8 none",
    ]


@needs("openssl")
def test_keys_and_certificates_are_made(desk: Desk) -> None:
    script = """
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=localhost 2>/dev/null
    openssl verify -CAfile cert.pem cert.pem
    openssl s_server -accept 8443 -cert cert.pem -key key.pem -quiet -www >/dev/null 2>&1 &
    python3 - <<'END'
import ssl, socket, time
limit = time.monotonic() + 60
while True:
    try:
        plain = socket.create_connection(("localhost", 8443))
        break
    except ConnectionRefusedError:
        assert time.monotonic() < limit
        time.sleep(0.05)
with ssl.create_default_context(cafile="cert.pem").wrap_socket(plain, server_hostname="localhost") as secure:
    print(secure.version())
END
    kill %1
    """
    assert desk.runs(script) == "cert.pem: OK\nTLSv1.3"


@needs("ssh-keygen")
def test_an_ssh_key_is_made(desk: Desk) -> None:
    assert desk.runs("ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -l -f key.pub | grep -c ED25519") == "1"
