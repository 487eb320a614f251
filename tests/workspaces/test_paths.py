"""What a model wrote becomes a path that may be opened, or is refused."""

import os
import threading
from pathlib import Path

import pytest

from workspaces import paths
from workspaces.paths import PathError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "in.txt").write_text("inside\n")
    outside = tmp_path / "tree-outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    return tree


def code(root: Path, given: str) -> str:
    with pytest.raises(PathError) as caught:
        paths.resolve(root, given)
    return caught.value.code


@pytest.mark.parametrize("given", ["sub/in.txt", "./sub/../sub/in.txt", "/workspace/sub/in.txt", "sub//in.txt"])
def test_a_path_inside_is_found_however_it_is_written(root: Path, given: str) -> None:
    assert paths.resolve(root, given).relative == "sub/in.txt"


def test_the_real_path_of_the_tree_is_accepted(root: Path) -> None:
    assert paths.resolve(root, f"{root}/sub/in.txt").relative == "sub/in.txt"


@pytest.mark.parametrize(
    "given",
    ["..", "../tree-outside/secret.txt", "/etc/passwd", "/workspace-other/x", "sub/../../tree-outside/secret.txt"],
)
def test_a_path_outside_is_refused(root: Path, given: str) -> None:
    assert code(root, given) == "OUTSIDE_WORKSPACE"


@pytest.mark.parametrize("given", [r"\\host\share", "//host/share/x", "C:\\Windows", "c:/x", "C:"])
def test_windows_and_network_paths_are_refused(root: Path, given: str) -> None:
    assert code(root, given) == "OUTSIDE_WORKSPACE"


@pytest.mark.parametrize("given", ["", "  ", "a\0b", "\ud800", "x" * 256, "a/" * 3000])
def test_what_can_be_no_path_is_invalid(root: Path, given: str) -> None:
    assert code(root, given) == "INVALID_INPUT"


def test_a_name_with_a_colon_or_a_tilde_is_an_ordinary_name(root: Path) -> None:
    assert paths.resolve(root, "a:b").relative == "a:b"
    assert paths.resolve(root, "~/x").relative == "~/x"


def test_links_that_lead_out_are_refused_even_when_they_dangle(root: Path) -> None:
    (root / "file").symlink_to(root.parent / "tree-outside" / "secret.txt")
    (root / "folder").symlink_to(root.parent / "tree-outside")
    (root / "dangling").symlink_to(root.parent / "nowhere")
    assert {code(root, name) for name in ("file", "folder/secret.txt", "dangling")} == {"OUTSIDE_WORKSPACE"}


def test_links_that_stay_inside_are_followed(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("sub/in.txt")
    (root / "as_commands_see_it").symlink_to("/workspace/sub/in.txt")
    assert paths.resolve(root, "one").relative == "sub/in.txt"
    assert paths.resolve(root, "as_commands_see_it").relative == "sub/in.txt"


def test_dots_after_a_link_mean_the_folder_above_its_target(root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "link").symlink_to("a/b")
    assert paths.resolve(root, "link/../x").relative == "a/x"


def test_links_that_point_at_each_other_are_invalid(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    assert code(root, "one/x") == "INVALID_INPUT"


@pytest.mark.parametrize("given", [".git/config", "sub/.GIT/hooks/x", "x/../.git", "sub/.git"])
def test_git_folders_are_protected_at_any_depth_in_any_case(root: Path, given: str) -> None:
    assert code(root, given) == "PROTECTED_PATH"


def test_a_link_to_a_git_folder_is_protected(root: Path) -> None:
    (root / ".git").mkdir()
    (root / "innocent").symlink_to(".git")
    assert code(root, "innocent/config") == "PROTECTED_PATH"


def test_names_like_gits_are_not_protected(root: Path) -> None:
    assert paths.resolve(root, ".gitignore").relative == ".gitignore"
    assert paths.resolve(root, ".github/x").relative == ".github/x"


def test_a_byte_that_is_not_utf8_is_taken_back(root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9")).write_text("x")
    assert paths.resolve(root, r"caf\xe9").relative == os.fsdecode(b"caf\xe9")


def test_a_name_with_a_literal_escape_wins(root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9")).write_text("x")
    (root / r"caf\xe9").write_text("x")
    assert paths.resolve(root, r"caf\xe9").relative == r"caf\xe9"


def test_the_end_of_a_path_may_be_left_unresolved(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "tree-outside")
    assert paths.resolve_parent(root, "link").relative == "link"
    with pytest.raises(PathError, match="out of the workspace"):
        paths.resolve_parent(root, "link/secret.txt")


def test_a_link_swapped_in_after_the_check_is_not_followed(root: Path) -> None:
    path = paths.resolve(root, "sub/in.txt")
    (root / "sub" / "in.txt").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to(root.parent / "tree-outside")
    (root.parent / "tree-outside" / "in.txt").write_text("secret\n")
    with pytest.raises((PathError, OSError)):
        paths.open_file(root, path)


def test_a_pipe_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(PathError) as caught:
        paths.open_file(root, paths.resolve(root, "pipe"))
    assert caught.value.code == "SPECIAL_FILE"


def test_a_name_in_the_wrong_case_is_told(root: Path) -> None:
    with pytest.raises(PathError, match=r"there is sub/in\.txt"):
        paths.open_file(root, paths.resolve(root, "sub/IN.txt"))


def test_no_message_shows_where_the_tree_lies(root: Path) -> None:
    for given in ("../x", "/etc/passwd", ".git/x", "nope/x"):
        with pytest.raises(PathError) as caught:
            paths.open_file(root, paths.resolve(root, given))
        assert str(root) not in caught.value.message


def test_a_swap_under_way_never_reads_outside(root: Path) -> None:
    """Half the time `sub` is a link that leads out; what is read is the file inside, or nothing."""
    (root.parent / "tree-outside" / "in.txt").write_text("secret\n")
    (root / "spare").symlink_to(root.parent / "tree-outside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "sub").rename(root / "kept")
            (root / "spare").rename(root / "sub")
            (root / "sub").rename(root / "spare")
            (root / "kept").rename(root / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(500):
            try:
                with open(paths.open_file(root, paths.resolve(root, "sub/in.txt"))) as file:
                    assert file.read() == "inside\n"
            except (PathError, OSError):
                continue
    finally:
        stop.set()
        swapper.join()
