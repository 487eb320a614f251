"""Git in a workspace and in repositories made there: all that a developer does in a day."""

import pytest

from tests.wall.ordinary.conftest import Desk, needs

pytestmark = [pytest.mark.django_db, needs("git")]


def test_a_day_of_work_in_the_workspace(desk: Desk) -> None:
    script = """
    git status --short
    sed -i 's/a - b/a + b/' calc.py
    git diff --stat | tail -1
    git add calc.py && git commit --quiet -m 'Mend add'
    echo draft > notes.txt; echo '# later' >> calc.py
    git stash push --quiet --include-untracked
    git status --short; git stash pop --quiet
    git status --short
    git checkout --quiet -- calc.py; rm notes.txt
    git log --oneline | wc -l
    git blame -s calc.py | wc -l
    git log -1 --format='%an <%ae> %s'
    """
    assert desk.runs(script).split("\n") == [
        " 1 file changed, 1 insertion(+), 1 deletion(-)",
        " M calc.py",
        "?? notes.txt",
        "2",
        "6",
        "Sakura agent <agent@sandbox> Mend add",
    ]


def test_branches_are_rebased_merged_and_picked_from(desk: Desk) -> None:
    script = r"""
    git switch --quiet -c feature
    for n in 1 2 3 4; do echo $n > step$n; git add --all; git commit --quiet -m "step $n"; done
    git switch --quiet -c other HEAD~4
    echo other > other.txt; git add --all; git commit --quiet -m other
    git switch --quiet feature
    GIT_SEQUENCE_EDITOR="sed -i '2s/pick/squash/;3s/pick/drop/'" git rebase --quiet -i HEAD~4 >/dev/null
    git rebase --quiet other
    git log --format=%s -4
    git switch --quiet -c joined other
    git merge --quiet --no-ff -m joined feature
    git log --format=%p -1 | wc -w
    git switch --quiet -c picked other; git cherry-pick feature >/dev/null
    ls
    """
    lines = desk.runs(script).split("\n")
    assert lines[:5] == ["step 4", "step 1", "other", "First", "2"]
    assert lines[5:] == ["README.md", "calc.py", "other.txt", "step4", "tests"]


def test_a_conflict_is_told_and_resolved(desk: Desk) -> None:
    script = """
    git switch --quiet -c mine; sed -i 's/a - b/a + b/' calc.py; git commit --quiet -am mine
    git switch --quiet -c theirs HEAD~1; sed -i 's/a - b/b + a/' calc.py; git commit --quiet -am theirs
    git merge mine >/dev/null || git diff --name-only --diff-filter=U
    git checkout --quiet --theirs calc.py; git add calc.py; git commit --quiet --no-edit
    grep -c 'a + b' calc.py
    """
    assert desk.runs(script) == "calc.py\n1"


def test_worktrees_bisect_tags_and_housekeeping(desk: Desk) -> None:
    script = """
    for n in 1 2 3 4 5 6 7 8; do echo $n > number; git add number; git commit --quiet -m "number $n"; done
    git tag -a v1 -m v1
    git worktree add --quiet /tmp/beside HEAD~3
    cat /tmp/beside/number; git worktree list | wc -l; git worktree remove /tmp/beside
    git bisect start HEAD HEAD~7 >/dev/null
    git bisect run sh -c 'test "$(cat number)" -lt 5' | grep 'is the first bad commit' | wc -l
    git show --no-patch --format=%s refs/bisect/bad
    git bisect reset 2>/dev/null
    git gc --quiet && git fsck && git count-objects -v | grep -c in-pack
    git describe; git format-patch --quiet -1 && ls *.patch
    git reset --quiet --hard HEAD~1 && git am --quiet *.patch && git log -1 --format=%s
    """
    assert desk.runs(script).split("\n") == [
        "5",
        "2",
        "1",
        "number 5",
        "1",
        "v1",
        "0001-number-8.patch",
        "number 8",
    ]


def test_a_repository_made_anew_is_cloned_pushed_to_and_fetched_from(desk: Desk) -> None:
    script = """
    git init --quiet --bare /tmp/hub.git -b main
    git clone --quiet /tmp/hub.git /tmp/one 2>/dev/null
    cd /tmp/one; git switch --quiet -c main 2>/dev/null || true
    mkdir -p .git/hooks; printf '#!/bin/sh\\necho hook ran >&2\\n' > .git/hooks/pre-commit
    chmod +x .git/hooks/pre-commit
    echo a > a; git add a; git commit --quiet -m a
    git fetch --quiet; git -C /tmp/hub.git fetch --quiet /tmp/one main:main
    git clone --quiet --depth 1 file:///tmp/hub.git /tmp/two
    git -C /tmp/two submodule status; cat /tmp/two/a
    """
    assert desk.runs(script) == "hook ran\na"
