"""Sources: which may be added, how they are mirrored, and what is said when one can't be."""

import base64
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.conftest import GIT_ENV, git
from tests.workspaces.places import prepared, taken
from workspaces import credentials, snapshots, sources
from workspaces.git import Git
from workspaces.mirroring import Watch
from workspaces.models import Repository, Workspace
from workspaces.sources import SourceError

pytestmark = pytest.mark.django_db


def mirrored(source: object, **fields: object) -> Repository:
    row = Repository.objects.create(name=str(Repository.objects.count()), source=str(source), **fields)
    sources.mirror(row.pk)
    row.refresh_from_db()
    return row


# --- which source ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", "INVALID_SOURCE"),
        ("--upload-pack=touch /tmp/x", "INVALID_SOURCE"),
        ("ext::sh -c touch% /tmp/x", "BAD_SCHEME"),
        ("fd::17", "BAD_SCHEME"),
        ("http://example.org/x.git", "BAD_SCHEME"),
        ("git://example.org/x.git", "BAD_SCHEME"),
        ("ext://x", "BAD_SCHEME"),
        ("https://ann:secret@example.org/x.git", "CREDENTIAL_IN_URL"),
        ("https://ghp_token@example.org/x.git", "CREDENTIAL_IN_URL"),
        ("ssh://-oProxyCommand=x/y", "INVALID_SOURCE"),
        ("ssh://-oProxyCommand=x@example.org/y", "INVALID_SOURCE"),
        ("-oProxyCommand=x:y", "INVALID_SOURCE"),
        ("https://example.org", "INVALID_SOURCE"),
        ("https://exa mple.org:99999999/x", "INVALID_SOURCE"),
        ("relative/path", "INVALID_SOURCE"),
        ("/no/such/folder", "NOT_FOUND"),
        ("file://host/path", "INVALID_SOURCE"),
        ("/etc", "NOT_FOUND"),
        ("https://example.org/x\ny", "INVALID_SOURCE"),
    ],
)
def test_a_source_that_may_not_be_added_is_refused_with_its_reason(source: str, code: str) -> None:
    with pytest.raises(SourceError) as error:
        sources.check_source(source, is_admin=True)
    assert error.value.code == code
    assert "secret" not in str(error.value)
    assert "ghp_token" not in str(error.value)


@pytest.mark.parametrize(
    "source", ["https://example.org/a/b.git", "ssh://git@example.org:2222/a", "git@example.org:a/b.git"]
)
def test_https_and_ssh_urls_are_kept_as_they_are(source: str) -> None:
    assert sources.check_source(f" {source} ", is_admin=False) == source


def test_a_local_folder_is_for_admins_or_below_a_root(source: Path, tmp_path: Path, settings: Settings) -> None:
    assert sources.check_source(f"file://{source}", is_admin=True) == str(source)
    with pytest.raises(SourceError, match="only an admin"):
        sources.check_source(str(source), is_admin=False)
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "link").symlink_to(source)
    settings.SAKURA_REPOSITORY_ROOTS = [allowed]
    with pytest.raises(SourceError, match="only an admin"):
        sources.check_source(str(allowed / "link"), is_admin=False)
    settings.SAKURA_REPOSITORY_ROOTS = [source.parent]
    assert sources.check_source(str(source), is_admin=False) == str(source)


def test_a_folder_whose_git_leads_to_what_is_sakuras_own_is_refused(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "sly").mkdir()
    (tmp_path / "sly" / ".git").write_text(f"gitdir: {repository.mirror}\n")
    with pytest.raises(SourceError, match="belongs to Sakura itself"):
        sources.check_source(str(tmp_path / "sly"), is_admin=True)


# --- mirroring ---------------------------------------------------------------------------------------


def test_a_mirror_has_the_branches_and_the_default(source: Path) -> None:
    git(source, "branch", "feature/x")
    row = mirrored(source)
    assert (row.status, row.default_branch, row.error) == ("ready", "main", "")
    assert sources.branches(row) == ["main", "feature/x"]
    assert sources.resolve(row, "feature/x") == git(source, "rev-parse", "HEAD")


def test_the_source_is_not_written_to(source: Path) -> None:
    def state() -> list[tuple[str, int]]:
        return sorted((str(path), path.lstat().st_mtime_ns) for path in source.rglob("*"))

    before = state()
    row = mirrored(source)
    assert sources.uncommitted(row) == 0
    assert state() == before


def test_a_source_without_commits_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "empty")
    row = mirrored(tmp_path / "empty")
    assert row.status == "failed"
    assert "make a first commit" in row.error


def test_a_detached_head_makes_its_commit_the_base(source: Path) -> None:
    git(source, "checkout", "--quiet", "--detach")
    git(source, "commit", "--quiet", "--allow-empty", "-m", "on no branch")
    head = git(source, "rev-parse", "HEAD")
    row = mirrored(source)
    assert row.default_branch == head
    assert sources.resolve(row, "") == head


def test_a_shallow_source_is_refused_with_the_command_to_run(source: Path, tmp_path: Path) -> None:
    git(source, "commit", "--quiet", "--allow-empty", "-m", "two")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{source}", "shallow")
    assert "fetch --unshallow" in mirrored(tmp_path / "shallow").error


def test_a_partial_source_is_refused_with_the_command_to_run(source: Path, tmp_path: Path) -> None:
    git(source, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{source}", "partial")
    assert "fetch --refetch" in mirrored(tmp_path / "partial").error


def test_a_sha256_source_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "new")
    git(tmp_path / "new", "commit", "--quiet", "--allow-empty", "-m", "x")
    assert "SHA-256" in mirrored(tmp_path / "new").error


def test_a_linked_work_tree_is_a_source_too(source: Path, tmp_path: Path) -> None:
    git(source, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    row = mirrored(tmp_path / "linked")
    assert (row.status, row.default_branch) == ("ready", "side")


def test_submodules_and_lfs_are_told(source: Path) -> None:
    git(source, "update-index", "--add", "--cacheinfo", f"160000,{git(source, 'rev-parse', 'HEAD')},vendor/lib")
    (source / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    git(source, "add", ".gitattributes")
    git(source, "commit", "--quiet", "-m", "x")
    row = mirrored(source)
    assert ["submodule" in row.notices[0], "LFS" in row.notices[1]] == [True, True]
    workspace = prepared(row)
    assert (workspace.tree / "vendor" / "lib").is_dir()
    (workspace.tree / "x").write_text("x\n")
    taken(workspace)
    assert [file.path for file in snapshots.changes(workspace).files] == ["x"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a folder of another user")
def test_a_source_of_another_user_is_mirrored_and_pushed_to_as_that_user(source: Path) -> None:
    subprocess.run(["chown", "-R", "61500:61500", source], check=True)
    row = mirrored(source)
    assert row.status == "ready", row.error
    workspace = prepared(row)
    (workspace.tree / "x").write_text("x\n")
    taken(workspace)
    snapshots.commit_branch(workspace, "sakura/1-x", "x", "Ann", "a@example.org")
    snapshots.push(workspace, "sakura/1-x")
    assert {path.lstat().st_uid for path in (source / ".git").rglob("*")} == {61500}
    assert (source / ".git" / "refs" / "heads" / "sakura" / "1-x").exists()


def test_a_base_stays_in_the_mirror_when_the_source_drops_it(source: Path) -> None:
    git(source, "switch", "--quiet", "--create", "doomed")
    git(source, "commit", "--quiet", "--allow-empty", "-m", "doomed")
    commit = git(source, "rev-parse", "HEAD")
    row = mirrored(source)
    prepared(row)
    Git(row.mirror).run("update-ref", f"refs/sakura/base/{commit}", commit)
    git(source, "switch", "--quiet", "main")
    git(source, "branch", "--quiet", "-D", "doomed")
    assert sources.refresh(row)
    assert sources.branches(row) == ["main"]
    subprocess.run(["git", "gc", "--quiet", "--prune=now"], cwd=row.mirror, env=GIT_ENV, check=True)
    assert git(row.mirror, "show", "-s", "--format=%s", commit) == "doomed"


def test_a_cancel_ends_a_mirroring_that_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = f"https://127.0.0.1:{silent.getsockname()[1]}/x.git"
        row = Repository.objects.create(name="x", source=source, cancel_requested=True)
        sources.mirror(row.pk)
    row.refresh_from_db()
    assert (row.status, "cancelled" in row.error, row.cancel_requested) == ("failed", True, False)


def test_a_host_that_does_not_answer_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    row = mirrored(f"https://127.0.0.1:{port}/x.git")
    assert "the host does not answer" in row.error


def test_a_row_that_waits_for_nothing_is_left_alone(source: Path) -> None:
    row = mirrored(source)
    shutil.rmtree(source)
    sources.mirror(row.pk)
    row.refresh_from_db()
    assert row.status == "ready"


def test_a_refresh_that_fails_keeps_the_mirror_and_says_why(repository: Repository, source: Path) -> None:
    source.rename(source.with_name("moved"))
    assert not sources.refresh(repository)
    repository.refresh_from_db()
    assert (repository.status, "no such folder" in repository.error) == ("ready", True)
    assert sources.resolve(repository, "main")


def test_a_head_that_points_to_no_branch_leaves_another_as_the_default(source: Path) -> None:
    git(source, "symbolic-ref", "HEAD", "refs/heads/not-born")
    assert mirrored(source).default_branch == "main"


def test_what_a_killed_fetch_left_does_not_stop_the_next(repository: Repository, source: Path) -> None:
    half = repository.mirror / "objects" / "pack" / "tmp_pack_abc"
    half.write_text("x")
    lock = repository.mirror / "refs" / "heads" / "main.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    git(source, "commit", "--quiet", "--allow-empty", "-m", "two")
    assert sources.refresh(repository), repository.error
    assert not half.exists()
    assert sources.resolve(repository, "main") == git(source, "rev-parse", "HEAD")


def test_progress_is_written_to_the_row(source: Path) -> None:
    row = Repository.objects.create(name="x", source=str(source))
    watch = Watch(row)
    watch.hear(b"remote: Counting objects: 100% (9/9), done.\rReceiving objects:  42% (21/50), 1.00 MiB | 2 MiB/s\r")
    assert not watch.must_stop()
    row.refresh_from_db()
    assert (row.progress, row.percent) == ("Receiving objects: 42 %, 1.00 MiB", 42)
    assert row.claimed_until is not None


def test_a_mirroring_whose_row_is_gone_stops(source: Path) -> None:
    row = Repository.objects.create(name="x", source=str(source))
    watch = Watch(row)
    Repository.objects.all().delete()
    assert watch.must_stop()


# --- names in it -------------------------------------------------------------------------------------


def test_a_name_is_a_branch_a_tag_or_a_commit(repository: Repository, source: Path) -> None:
    git(source, "tag", "-a", "v1", "-m", "one")
    sources.refresh(repository)
    head = git(source, "rev-parse", "HEAD")
    assert {sources.resolve(repository, name) for name in ("main", "v1", head, head[:8], "")} == {head}


@pytest.mark.parametrize(
    "name", ["mian", "--output=x", "main@{1}", "main~1", "HEAD^{tree}", "a b", "main:calc.py", "\x00"]
)
def test_a_name_that_is_none_is_refused(repository: Repository, name: str) -> None:
    with pytest.raises(SourceError) as error:
        sources.resolve(repository, name)
    assert error.value.code == "NO_SUCH_BASE"


def test_a_near_name_is_proposed(repository: Repository) -> None:
    with pytest.raises(SourceError, match="near ones are main"):
        sources.resolve(repository, "mian")


def test_uncommitted_files_of_a_local_source_are_counted(repository: Repository, source: Path) -> None:
    (source / "calc.py").write_text("changed\n")
    (source / "new").write_text("x\n")
    (source / "staged").write_text("x\n")
    git(source, "add", "staged")
    assert sources.uncommitted(repository) == 3


def test_deleting_removes_our_folder_and_never_the_source(repository: Repository, source: Path) -> None:
    (repository.folder / "link").symlink_to(source)
    sources.delete(repository)
    assert not repository.folder.exists()
    assert (source / "calc.py").exists()


# --- pushing -----------------------------------------------------------------------------------------


def test_a_push_makes_a_new_branch_at_the_source(repository: Repository, source: Path) -> None:
    workspace = prepared(repository)
    (workspace.tree / "x").write_text("x\n")
    taken(workspace)
    commit = snapshots.commit_branch(workspace, "sakura/1-x", "x", "Ann", "a@example.org")
    snapshots.push(workspace, "sakura/1-x")
    snapshots.push(workspace, "sakura/1-x")
    assert git(source, "rev-parse", "sakura/1-x") == commit
    assert git(source, "status", "--porcelain") == ""


def committed(repository: Repository, branch: str) -> Workspace:
    workspace = prepared(repository)
    (workspace.tree / "x").write_text("x\n")
    taken(workspace)
    snapshots.commit_branch(workspace, branch, "x", "Ann", "a@example.org")
    return workspace


@pytest.mark.parametrize("branch", ["main", "other"])
def test_a_branch_that_is_there_is_never_moved(repository: Repository, source: Path, branch: str) -> None:
    git(source, "branch", "other")
    git(source, "config", "receive.denyCurrentBranch", "updateInstead")
    head = git(source, "rev-parse", "HEAD")
    workspace = committed(repository, branch)
    with pytest.raises(SourceError) as error:
        snapshots.push(workspace, branch)
    assert error.value.code == "BRANCH_EXISTS"
    assert f"has a branch {branch} already, with other commits ({head[:10]})" in error.value.message
    assert "Rename or delete it there and push again" in error.value.message
    assert git(source, "rev-parse", branch) == head


@pytest.mark.parametrize("other", ["sakura", "sakura/1-x/more"])
def test_a_branch_whose_name_is_in_the_way_is_named(repository: Repository, source: Path, other: str) -> None:
    workspace = committed(repository, "sakura/1-x")
    git(source, "branch", other)
    with pytest.raises(SourceError, match=f"has a branch {other}, beside which git can have no sakura/1-x;") as error:
        snapshots.push(workspace, "sakura/1-x")
    assert error.value.code == "BRANCH_EXISTS"


def test_a_push_to_a_source_that_is_gone_says_so(repository: Repository, source: Path) -> None:
    workspace = committed(repository, "sakura/1-x")
    source.rename(source.with_name("moved"))
    with pytest.raises(SourceError, match="there is no such folder") as error:
        snapshots.push(workspace, "sakura/1-x")
    assert error.value.code == "NOT_FOUND"
    source.mkdir()
    with pytest.raises(SourceError, match="there is no git repository"):
        snapshots.push(workspace, "sakura/1-x")


def test_the_reason_why_a_source_refuses_a_branch_is_passed_on(repository: Repository, source: Path) -> None:
    workspace = committed(repository, "sakura/1-x")
    git(source, "config", "receive.hideRefs", "refs/heads/sakura")
    with pytest.raises(SourceError, match="refused the branch sakura/1-x: deny updating a hidden ref") as error:
        snapshots.push(workspace, "sakura/1-x")
    assert error.value.code == "REFUSED"


def test_the_fetch_commands_work_in_a_clone(repository: Repository, source: Path) -> None:
    workspace = prepared(repository)
    (workspace.tree / "x").write_text("x\n")
    taken(workspace)
    commit = snapshots.commit_branch(workspace, "sakura/1-x", "x", "Ann", "a@example.org")
    for command in snapshots.fetch_commands(workspace, "sakura/1-x"):
        subprocess.run(["bash", "-c", command], cwd=source, env=GIT_ENV, check=True)
    assert git(source, "rev-parse", "HEAD") == commit


# --- credentials -------------------------------------------------------------------------------------


def test_a_credential_is_sealed_and_opened_again() -> None:
    sealed = credentials.seal("ann:s3cret")
    assert b"s3cret" not in sealed
    assert credentials.unseal(sealed) == "ann:s3cret"


def test_a_credential_of_another_key_says_to_enter_it_again(source: Path, settings: Settings) -> None:
    sealed = credentials.seal("token")
    settings.SECRET_KEY = "x" * 60
    row = mirrored("https://127.0.0.1:1/x.git", credential=sealed)
    assert "enter it again" in row.error


def test_messages_hold_no_secret() -> None:
    text = "fatal: https://ann:pw@host/x Authorization: Basic QUJD and s3cret"
    assert credentials.masked(text, "ann:s3cret") == "fatal: https://•••@host/x Authorization: Basic ••• and •••"


@contextmanager
def https_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """A server on this machine that refuses everybody and keeps the Authorization headers it got."""
    seen: list[str] = []

    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-keyout",
            tmp_path / "key",
            "-out",
            tmp_path / "cert",
        ],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "cert"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with HTTPServer(("localhost", 0), Refuses) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"https://localhost:{server.server_port}/x.git", seen
        finally:
            server.shutdown()
            thread.join()


def test_the_credential_reaches_its_server_and_a_refusal_asks_for_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with https_server(tmp_path, monkeypatch) as (url, seen):
        row = mirrored(url, credential=credentials.seal("ann:s3cret"))
        assert "enter a token" in row.error
        assert "s3cret" not in row.error
        assert seen[0] == f"Basic {base64.b64encode(b'ann:s3cret').decode()}"
        seen.clear()
        mirrored(url)
        assert set(seen) == {""}


def test_no_git_process_shows_the_credential_in_its_arguments() -> None:
    seen: list[bytes] = []

    def watch(server: socket.socket) -> None:
        connection, _ = server.accept()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.append(path.read_bytes())
            except OSError:
                continue
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=watch, args=(server,))
        thread.start()
        port = server.getsockname()[1]
        mirrored(f"https://127.0.0.1:{port}/x.git", credential=credentials.seal("ann:v3ry-s3cret"))
        thread.join()
    assert any(b"127.0.0.1" in line for line in seen)
    assert not any(b"v3ry" in line or b"Basic" in line for line in seen)
