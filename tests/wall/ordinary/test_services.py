"""Databases that a test suite starts for itself, inside the sandbox, and reaches by a socket or by loopback."""

from pathlib import Path

import pytest

from tests.wall.ordinary.conftest import Desk, needs

pytestmark = pytest.mark.django_db

POSTGRES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/lib/postgresql/none"))


@pytest.mark.skipif(not (POSTGRES / "initdb").exists(), reason="PostgreSQL's server is not installed on this machine")
def test_a_postgresql_cluster_is_made_and_used(desk: Desk) -> None:
    script = f"""
    export PATH={POSTGRES}:$PATH PGHOST=/tmp PGUSER=postgres
    initdb -D /tmp/cluster -U postgres --auth=trust >/dev/null
    pg_ctl -D /tmp/cluster -s -w -t 120 -l /tmp/log -o "-k /tmp -c listen_addresses=127.0.0.1" start
    createdb demo
    psql -q -d demo -c 'create table t (n int)' -c 'insert into t select generate_series(1, 50000)'
    psql -At -d demo -c 'set max_parallel_workers_per_gather = 2' -c 'select sum(n) from t' | tail -1
    PGHOST=127.0.0.1 psql -At -d demo -c 'select count(*) from t'
    pg_dump demo | grep -c '^CREATE TABLE'
    pg_ctl -D /tmp/cluster -s -w -m fast stop
    """
    assert desk.runs(script).split("\n") == ["1250025000", "50000", "1"]


@needs("redis-server", "redis-cli")
def test_a_redis_is_started_and_used(desk: Desk) -> None:
    script = """
    redis-server --port 6399 --bind 127.0.0.1 --unixsocket /tmp/redis.sock --dir /tmp --save '' >/dev/null &
    for n in $(seq 200); do redis-cli -p 6399 ping >/dev/null 2>&1 && break; sleep 0.05; done
    redis-cli -p 6399 set key value; redis-cli -s /tmp/redis.sock get key
    redis-cli -p 6399 bgsave >/dev/null
    redis-cli -p 6399 shutdown nosave
    wait; echo ended
    """
    assert desk.runs(script).split("\n") == ["OK", "value", "ended"]


@needs("sqlite3")
def test_sqlite_with_a_write_ahead_log(desk: Desk) -> None:
    script = """
    sqlite3 data.db 'pragma journal_mode=wal; create table t (n); insert into t values (1), (2);'
    sqlite3 data.db 'select sum(n) from t; vacuum; pragma integrity_check;'
    """
    assert desk.runs(script) == "wal\n3\nok"
