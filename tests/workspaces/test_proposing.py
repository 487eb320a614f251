"""One file proposed to a source: a commit on the default branch's head, a new branch, nothing else changed."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import GIT_ENV, git
from workspaces import objects, proposing, sources
from workspaces.git import Git, GitError
from workspaces.models import Repository
from workspaces.proposing import Proposal
from workspaces.remotes import SourceError

pytestmark = pytest.mark.django_db
PATH = ".sakura/policy.toml"
TEXT = b'protected = ["docs/**"]\n'


def propose(repository: Repository, data: bytes = TEXT, path: str = PATH) -> Proposal:
    """Propose as a person who pressed the button: the source is asked for news first."""
    sources.refresh(repository)
    base = sources.resolve(repository, "")
    author = ("Ann Bee", "ann@example.org")
    return proposing.propose(repository, base, path, data, stem="sakura/policy", message="Add it\n", author=author)


def committed(source: Path, message: str = "More") -> str:
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", message)
    return git(source, "rev-parse", "HEAD")


def test_a_proposal_is_one_commit_on_a_new_branch_of_the_source(repository: Repository, source: Path) -> None:
    head = git(source, "rev-parse", "main")
    made = propose(repository)
    assert (made.branch, made.base) == ("sakura/policy-1", head)
    assert git(source, "rev-parse", "sakura/policy-1") == made.commit
    assert (
        git(source, "log", "-1", "--format=%P|%an|%ae|%cn|%s", made.commit)
        == f"{head}|Ann Bee|ann@example.org|Ann Bee|Add it"
    )
    assert git(source, "diff", "--name-status", head, made.commit) == f"A\t{PATH}"
    assert git(source, "show", f"{made.commit}:{PATH}").encode() + b"\n" == TEXT


def test_the_source_keeps_its_branch_its_files_and_its_index(repository: Repository, source: Path) -> None:
    head = git(source, "rev-parse", "main")
    (source / "calc.py").write_text("being edited\n")
    propose(repository)
    assert git(source, "rev-parse", "main") == head
    assert git(source, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert (source / "calc.py").read_text() == "being edited\n"
    assert not (source / ".sakura").exists()
    assert git(source, "status", "--porcelain") == "M calc.py"


def test_every_other_file_keeps_bytes_mode_and_kind(repository: Repository, source: Path) -> None:
    (source / "crlf.txt").write_bytes(b"a\r\nb\r\n\xff\x00")
    (source / ".gitattributes").write_text("*.txt text eol=lf\n* filter=lfs\n")
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("/etc/passwd")
    (source / "odd\nname \u202e").write_text("odd")
    (source / "raw-\udcff").write_text("raw")
    (source / ".sakura").mkdir()
    (source / ".sakura" / "SAKURA.md").write_text("# Us\n")
    committed(source)
    made = propose(repository)
    before, after = (git(source, "ls-tree", "-r", commit).splitlines() for commit in ("main", made.commit))
    assert set(before) - set(after) == set()
    assert [entry.partition("\t")[2] for entry in set(after) - set(before)] == [PATH]


def test_a_file_that_is_there_keeps_its_mode(repository: Repository, source: Path) -> None:
    (source / ".sakura").mkdir()
    (source / PATH).write_text("verify = []\n")
    (source / PATH).chmod(0o755)
    committed(source)
    made = propose(repository)
    assert git(source, "ls-tree", made.commit, PATH).startswith("100755 ")


def test_the_next_proposal_takes_the_next_number(repository: Repository, source: Path) -> None:
    propose(repository)
    git(source, "branch", "sakura/policy-7")
    git(source, "branch", "sakura/policy-99999999999999999999")
    git(source, "branch", "sakura/policy-x")
    assert propose(repository, b"verify = []\n").branch == "sakura/policy-8"
    git(source, "branch", "-D", "sakura/policy-8")
    assert propose(repository, b'verify = ["x"]\n').branch == "sakura/policy-9"


def test_the_same_proposal_twice_is_one(repository: Repository, source: Path) -> None:
    first = propose(repository)
    assert propose(repository) == first
    git(source, "branch", "-D", first.branch)
    assert propose(repository) == first
    assert git(source, "rev-parse", first.branch) == first.commit


def test_what_is_there_already_is_not_proposed(repository: Repository, source: Path) -> None:
    git(source, "merge", "--quiet", "--ff-only", propose(repository).branch)
    with pytest.raises(SourceError, match=r"is the same at .* already") as error:
        propose(repository)
    assert error.value.code == "UNCHANGED"


@pytest.mark.parametrize("kind", ["a folder", "a link above", "a file above", "a submodule above"])
def test_what_is_in_the_way_is_named_and_kept(repository: Repository, source: Path, kind: str) -> None:
    place = source / ".sakura"
    match kind:
        case "a folder":
            (source / PATH).mkdir(parents=True)
            (source / PATH / "inner").write_text("x")
        case "a link above":
            place.symlink_to("tests")
        case "a file above":
            place.write_text("x")
        case _:
            git(source, "update-index", "--add", "--cacheinfo", f"160000,{git(source, 'rev-parse', 'HEAD')},.sakura")
            git(source, "commit", "--quiet", "-m", "A submodule")
    if kind != "a submodule above":
        committed(source)
    with pytest.raises(SourceError, match=r"\.sakura(/policy\.toml)? is (a|no) folder in the source") as error:
        propose(repository)
    assert error.value.code == "IN_THE_WAY"
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_a_link_at_the_path_gives_way_to_the_file_and_is_not_followed(repository: Repository, source: Path) -> None:
    (source / ".sakura").mkdir()
    (source / PATH).symlink_to("../calc.py")
    committed(source)
    made = propose(repository)
    assert git(source, "diff", "--name-status", "main", made.commit) == f"T\t{PATH}"
    assert git(source, "ls-tree", made.commit, PATH).startswith("100644 ")


def test_a_detached_head_is_built_on(repository: Repository, source: Path) -> None:
    first = git(source, "rev-parse", "HEAD")
    (source / "new").write_text("x")
    committed(source)
    git(source, "checkout", "--quiet", "--detach", first)
    made = propose(repository)
    assert made.base == first
    assert not any("switch" in command for command in proposing.merge_commands(repository, made.branch))


def test_a_source_that_refuses_leaves_nothing_behind(repository: Repository, source: Path) -> None:
    git(source, "config", "receive.hideRefs", "refs/heads/sakura")
    with pytest.raises(SourceError, match="refused the branch sakura/policy-1: deny updating a hidden ref"):
        propose(repository)
    assert Git(repository.store).text("for-each-ref", "refs/heads/sakura") == ""
    git(source, "config", "--unset", "receive.hideRefs")
    assert propose(repository).branch == "sakura/policy-1"


def test_a_source_that_is_gone_says_so(repository: Repository, source: Path) -> None:
    base = sources.resolve(repository, "")
    source.rename(source.with_name("moved"))
    with pytest.raises(SourceError, match="there is no such folder"):
        proposing.propose(repository, base, PATH, TEXT, stem="sakura/policy", message="x", author=("Ann", ""))


def test_hooks_and_filters_of_the_source_do_not_run(repository: Repository, source: Path, tmp_path: Path) -> None:
    for hook in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction"):
        place = source / ".git" / "hooks" / hook
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        place.chmod(0o755)
    propose(repository)
    assert not (tmp_path / "ran").exists()


def test_a_tree_that_names_a_file_twice_is_refused_whole(repository: Repository, source: Path) -> None:
    blob, other = (git(source, "rev-parse", f"main:{name}") for name in ("calc.py", "README.md"))
    entry = b"100644 calc.py\0"
    data = entry + bytes.fromhex(blob) + entry + bytes.fromhex(other)
    tree = objects.write(repository.mirror, "tree", data)
    commit = objects.write(repository.mirror, "commit", objects.commit_data(tree, "0" * 40, "Twice"))
    with pytest.raises((SourceError, GitError)):
        proposing.propose(repository, commit, PATH, TEXT, stem="sakura/policy", message="x", author=("Ann", ""))
    assert git(source, "branch", "--list", "sakura/*") == ""


def test_the_merge_commands_take_it_over_in_the_source(repository: Repository, source: Path) -> None:
    made = propose(repository)
    for command in proposing.merge_commands(repository, made.branch):
        subprocess.run(["bash", "-c", command], cwd="/", env=GIT_ENV, check=True, capture_output=True)
    assert git(source, "rev-parse", "main") == made.commit
    assert (source / PATH).read_bytes() == TEXT


def test_the_merge_commands_take_it_over_in_a_clone_of_a_bare_source(source: Path, tmp_path: Path, db: None) -> None:
    bare, clone = tmp_path / "bare one.git", tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--bare", str(source), str(bare))
    row = Repository.objects.create(name="bare", source=str(bare))
    sources.mirror(row.pk)
    row.refresh_from_db()
    made = propose(row)
    git(tmp_path, "clone", "--quiet", str(bare), str(clone))
    for command in proposing.merge_commands(row, made.branch):
        subprocess.run(["bash", "-c", command], cwd=clone, env=GIT_ENV, check=True, capture_output=True)
    assert git(clone, "rev-parse", "main") == made.commit


def test_a_proposal_is_found_again_by_its_branch(repository: Repository) -> None:
    assert proposing.proposed(repository, "sakura/policy-1") is None
    made = propose(repository)
    assert proposing.proposed(repository, "sakura/policy-1") == made
    assert proposing.proposed(repository, "sakura/policy-2") is None
    assert proposing.proposed(repository, "sakura/policy") is None
