"""What .gitignore excludes, against git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.readers import read
from gossamer.readers.ignore import MOST_NESTED, parse

FILES = ["a.txt", "b.txt", "sub/a.txt", "sub/c.txt", "sub/deep/a.txt", "sub/deep/b.txt", "other/a.txt", "a b.txt"]


def write(folder: Path, ignores: dict[str, str]) -> None:
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("text")
    for place, lines in ignores.items():
        (folder / place / ".gitignore").write_text(lines)


def read_ids(folder: Path) -> list[str]:
    return [record.id for record in read(folder)]


def test_nested_files_and_negation(tmp_path: Path) -> None:
    write(tmp_path, {".": "a.txt\n# comment\n/other/\n", "sub": "!a.txt\nc.*\n", "sub/deep": "*\n!b.txt\n"})
    assert read_ids(tmp_path) == ["a b.txt", "b.txt", "sub/a.txt", "sub/deep/b.txt"]


def test_nothing_below_an_excluded_folder_comes_back(tmp_path: Path) -> None:
    write(tmp_path, {".": "sub/\n!sub/a.txt\n", "sub": "!a.txt\n"})
    assert read_ids(tmp_path) == ["a b.txt", "a.txt", "b.txt", "other/a.txt"]


def test_a_folder_taken_back_is_entered(tmp_path: Path) -> None:
    """Found by asking git."""
    write(tmp_path, {".": "*\n!sub\n", "sub": "!a.txt\n"})
    assert read_ids(tmp_path) == ["sub/a.txt"]


def test_a_space_at_the_end_can_be_meant(tmp_path: Path) -> None:
    write(tmp_path, {".": "*.txt\n!end\\ \n"})
    (tmp_path / "end ").mkdir()
    (tmp_path / "end ").joinpath(".gitignore").write_text("!x.txt")
    (tmp_path / "end " / "x.txt").write_text("x")
    assert read_ids(tmp_path) == ["end /x.txt"]


def test_a_line_that_is_no_pattern_spoils_nothing(tmp_path: Path) -> None:
    write(tmp_path, {".": "!\nsub\n"})
    assert read_ids(tmp_path) == ["a b.txt", "a.txt", "b.txt", "other/a.txt"]


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    write(tmp_path, {})
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbfsub/\r\nother/\r\n")
    assert read_ids(tmp_path) == ["a b.txt", "a.txt", "b.txt"]


PLAIN = [
    "a.txt",
    "/a.txt",
    "other/a.txt",
    "sub",
    "sub/",
    "deep",
    "sub/deep/",
    "a\\ b.txt",
    "#a.txt",
    "",
    "a.txt  ",
    "/",
]
WILD = [
    "*",
    "*.txt",
    "b.*",
    "s?b/",
    "/sub/*",
    "**/a.txt",
    "sub/**",
    "**/deep/*",
    "sub/*/a.txt",
    "/**/b.txt",
    "**",
    "a**",
]
SETS = [
    "[ab].txt",
    "[!a].txt",
    "[^b].*",
    "[[:alpha:]].txt",
    "[]a].txt",
    "[a-c]*",
    "[z-a]*",
    "[a",
    "sub[/]a.txt",
    "\\a.txt",
    "a\\",
]
patterns = st.sampled_from(PLAIN) | st.sampled_from(WILD) | st.sampled_from(SETS)
lines = st.tuples(st.sampled_from(["", "", "!"]), patterns).map("".join)
ignores = st.dictionaries(
    st.sampled_from([".", "sub", "sub/deep", "other"]),
    st.lists(lines, max_size=4).map(lambda each: "\n".join(each) + "\n"),
    max_size=3,
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the yardstick")
@settings(max_examples=80)
@given(ignores=ignores)
def test_git_agrees(tmp_path_factory: pytest.TempPathFactory, ignores: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("tree")
    write(folder, ignores)
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment = clean | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "init", "--quiet"], cwd=folder, env=environment, check=True)
    listing = ["git", "ls-files", "--others", "-z", "--exclude-per-directory=.gitignore"]
    output = subprocess.run(listing, cwd=folder, env=environment, check=True, capture_output=True).stdout
    wanted = [name for name in output.decode().split("\0") if name and not name.endswith(".gitignore")]
    assert sorted(read_ids(folder)) == sorted(wanted)
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("line", "ignored"),
    [
        ("*a" * 30 + "*b", False),
        ("*a" * 30 + "*.txt", True),
        ("**/*a/" * 10 + "b", False),
        ("?*" * 40 + "b", False),
        ("*" + "[a]*" * 40 + "b", False),
        ("*a" * 100_000 + "*b", False),
    ],
)
def test_no_pattern_takes_exponential_time(tmp_path: Path, line: str, ignored: bool) -> None:
    folder = tmp_path.joinpath(*["a" * 10] * 40)
    folder.mkdir(parents=True)
    (folder / ("a" * 200 + ".txt")).write_text("text")
    (tmp_path / ".gitignore").write_text(line + "\n")
    assert len(read_ids(tmp_path)) == (0 if ignored else 1)


@pytest.mark.parametrize(
    ("glob", "path", "wanted"),
    [
        ("a*b*c", "abxbc", True),
        ("a*b*c", "acb", False),
        ("*ab*ab", "abab", True),
        ("*ab*ab", "aab", False),
        ("x/**/a/**/a", "x/a/a", True),
        ("x/**/a/**/a", "x/a", False),
        ("x/**/a/b/**/c*d", "x/a/a/b/e/cod", True),
        ("x/**/a/**", "x/y/a/z", True),
        ("x/**/a/**", "x/y/a", False),
        ("**/**/a", "a", True),
        ("/*/*b", "a/a/b", False),
        ("a\\/b", "a/b", True),
    ],
)
def test_stars_match_wherever_they_can(glob: str, path: str, wanted: bool) -> None:
    assert parse([glob])[0].matches(path, False) == wanted


def test_rules_nested_very_deep_are_not_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every file would be compared with all the rules around it."""
    folder = tmp_path
    for _ in range(MOST_NESTED + 2):
        (folder / ".gitignore").write_text("none\n")
        (folder / "a.txt").write_text("text")
        folder = folder / "d"
        folder.mkdir()
    assert len(read_ids(tmp_path)) == MOST_NESTED
    assert "more than 100 nested folders have a .gitignore" in caplog.text
