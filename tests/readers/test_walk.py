"""Which files are found, in which order, and under which names."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import InputError, ParameterError
from gossamer.readers import read


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")


def ids(*paths: Path | str, glob: str | list[str] | None = None) -> list[str]:
    return [record.id for record in read(paths, glob=glob)]


def test_a_folder_is_read_sorted_and_with_all_below(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a.md", "sub/z.txt", "sub/deeper/a.txt", "c.txt")
    assert ids(tmp_path) == ["a.md", "b.txt", "c.txt", "sub/deeper/a.txt", "sub/z.txt"]


def test_only_known_kinds_without_a_glob(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.txt",
        "picture.png",
        "other.png",
        "LICENSE",
        "README",
        "B.TXT",
        "x.gsm/y.txt",
        "node_modules/a.md",
        ".gitignore",
        "b.tmp",
    )
    (tmp_path / ".gitignore").write_text("*.tmp")
    reading = read(tmp_path)
    assert [record.id for record in reading] == ["B.TXT", "README", "a.txt"]
    assert reading.unread == {(".png", "no reader"): 2, ("", "no reader"): 1, (".tmp", "excluded by .gitignore"): 1}
    assert not read(tmp_path, glob="*.txt").unread.get((".png", "no reader"))


@pytest.mark.parametrize(
    ("glob", "wanted"),
    [
        ("*.py", ["a.py", "docs/b.py"]),
        (["*.py", "!docs/**"], ["a.py"]),
        (["*.py", "!docs/"], ["a.py"]),
        ("docs", ["docs/b.py", "docs/c.txt"]),
        ("docs/**", ["docs/b.py", "docs/c.txt"]),
        ("/*.py", ["a.py"]),
        ("*.none", []),
    ],
)
def test_globs_choose_files_of_any_kind(tmp_path: Path, glob: str | list[str], wanted: list[str]) -> None:
    write(tmp_path, "a.py", "d.txt", "docs/b.py", "docs/c.txt")
    assert ids(tmp_path, glob=glob) == wanted


@pytest.mark.parametrize("glob", ["", [], [""], [3]])
def test_a_glob_that_is_none(tmp_path: Path, glob: Any) -> None:
    with pytest.raises(ParameterError, match=r"such as '\*\.md'"):
        read(tmp_path, glob=glob)


def test_hidden_names_are_passed_over_unless_named(tmp_path: Path) -> None:
    write(tmp_path, ".secret.txt", ".git/config.txt", "a.txt")
    assert ids(tmp_path) == ["a.txt"]
    assert ids(tmp_path / ".secret.txt") == [".secret.txt"]


def test_a_named_file_is_read_whatever_its_kind(tmp_path: Path) -> None:
    write(tmp_path, "README")
    assert [record.text for record in read(tmp_path / "README")] == ["text of README"]


def test_names_do_not_depend_on_how_the_folder_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/sub/a.txt")
    monkeypatch.chdir(tmp_path)
    assert ids("docs") == ids("./docs/") == ids(tmp_path / "docs") == ["sub/a.txt"]
    monkeypatch.chdir(tmp_path / "docs")
    assert ids(".") == ["sub/a.txt"]


def test_names_stay_apart_where_several_paths_are_given(tmp_path: Path) -> None:
    write(tmp_path, "one/a.txt", "two/a.txt", "b.txt")
    assert ids(tmp_path / "two", tmp_path / "one") == ["two/a.txt", "one/a.txt"]
    assert ids(tmp_path / "one", tmp_path / "b.txt") == ["one/a.txt", "b.txt"]


def test_no_file_is_read_twice(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "b.txt")
    assert ids(tmp_path / "b.txt", tmp_path, tmp_path / "." / "a.txt") == ["b.txt", "a.txt"]


def test_source_is_the_path_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/a.txt")
    monkeypatch.chdir(tmp_path)
    assert [record.source for record in read("docs")] == ["docs/a.txt"]


@pytest.mark.parametrize("path", ["nowhere", "nowhere/a.txt", "", "a\0b"])
def test_a_missing_path_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no file or folder"):
        read(path)


def test_loops_of_links_end(tmp_path: Path) -> None:
    write(tmp_path, "sub/a.txt")
    (tmp_path / "sub" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "itself.txt").symlink_to(tmp_path / "itself.txt")
    (tmp_path / "broken.txt").symlink_to(tmp_path / "gone.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "sub" / "a.txt")
    assert ids(tmp_path) == ["sub/a.txt"]


def test_a_file_is_read_once_whatever_links_to_it(tmp_path: Path) -> None:
    write(tmp_path, "sub/b.txt", ".hidden/c.txt")
    for name in ("a.txt", "z.txt", "sub/c.txt"):
        (tmp_path / name).symlink_to(tmp_path / "sub" / "b.txt")
    for name in ("d.txt", "e.txt"):
        (tmp_path / name).symlink_to(tmp_path / ".hidden" / "c.txt")
    reading = read(tmp_path)
    assert [record.id for record in reading] == ["d.txt", "sub/b.txt"]
    assert (reading.twins, reading.skipped) == (4, 0)
    assert ids(tmp_path / "a.txt", tmp_path / "sub") == ["a.txt", "sub/b.txt"], "it was named itself"


def test_documents_tell_of_their_file(tmp_path: Path) -> None:
    write(tmp_path, "letters/a.md", "oak.py")
    (tmp_path / "rows.csv").write_text("id,text,path\nb,A row,mine\n")
    os.utime(tmp_path / "letters" / "a.md", (1_767_225_600, 1_767_225_600))
    found = {record.id: record.metadata for record in read(tmp_path)}
    assert found["letters/a.md"] == {"path": "letters/a.md", "modified": "2026-01-01T00:00:00+00:00"}
    assert found["oak.py"]["path"] == "oak.py"
    assert found["b"] == {"path": "mine"}
    (lines,) = read(tmp_path / "letters", lines=True)
    assert lines.metadata == {}


def test_links_out_of_a_folder_are_left_out_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "secret.txt", "folder/a.txt")
    folder = tmp_path / "folder"
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up.txt").symlink_to(folder / ".." / "folder" / "a.txt")
    with caplog.at_level(logging.WARNING):
        reading = read(folder)
        assert [record.id for record in reading] == ["a.txt"]
    assert (reading.links, reading.twins, reading.skipped) == (1, 1, 1)
    assert caplog.messages == [
        f"skipped 1 files that are links out of their folder, such as {folder}/link.txt: "
        "follow_links=True (--follow-links) reads them"
    ]
    followed = read(folder, follow_links=True)
    assert [record.id for record in followed] == ["a.txt", "link.txt"]
    assert followed.links == 0
    assert [record.text for record in read(folder / "link.txt")] == ["text of secret.txt"], "it was named itself"


def test_pipes_and_sockets_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "b.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "link.txt").symlink_to(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket.txt"))
        reading = read(tmp_path, on_error="skip")
    (tmp_path / "b.txt").unlink()
    os.mkfifo(tmp_path / "b.txt")  # a pipe since it was found
    assert [record.id for record in reading] == ["a.txt"]
    assert reading.broken == 1


def test_a_link_to_a_folder_can_be_named(tmp_path: Path) -> None:
    write(tmp_path, "real/a.txt")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert ids(tmp_path / "link") == ["a.txt"]


def test_names_that_are_no_text_are_mended(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.txt")).write_text("x")
    assert ids(tmp_path) == ["a\ufffd.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "shut/a.txt", "b.txt")
    (tmp_path / "shut").chmod(0)
    try:
        with caplog.at_level(logging.WARNING):
            assert ids(tmp_path) == ["b.txt"]
        assert "shut" in caplog.text
    finally:
        (tmp_path / "shut").chmod(0o755)
