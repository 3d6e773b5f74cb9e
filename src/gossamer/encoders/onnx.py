"""The default encoder: all-MiniLM-L6-v2 in int8, on ONNX Runtime, without torch.

**Every text is run through the model alone.** The model quantises its activations with one scale for
the whole input tensor, so in a batch a text's vector depends on its neighbours: its cosine to the vector of the text
alone is 0.993 on average and 0.98 at worst (4,000 QQP questions, batches of 1 against 64), also between texts of equal
length, where there is no padding. Alone, the same text has the same vector, bit for bit, and comes
closer to the float32 model (0.9932 against 0.9928). It costs little: one text to a thread is nearly as
fast as a batch split over threads, since nothing is spent on padding and synchronisation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gossamer.array_types import Floats
from gossamer.checks import positive
from gossamer.encoders.models import MODELS, is_fetched, read_model
from gossamer.encoders.protocol import CheckedEncoder, Kind, Once, fingerprint_of
from gossamer.errors import MissingExtraError
from gossamer.results.progress import Progress
from gossamer.runtime.threads import cores

_CHUNK = 32
"""Texts a thread takes at a time, and between two reports of progress."""

_TOKENS = 256
"""The length the model was trained for, in tokens; longer texts are truncated."""


class OnnxEncoder(CheckedEncoder):
    """MiniLM: unit vectors of 384 dimensions, the same for documents and queries. Model files are fetched at first use.

    `threads` defaults to the cores this process may use. `on_download` is called with (bytes done, bytes in all) while
    files are fetched.
    """

    def __init__(self, *, threads: int | None = None, on_download: Progress | None = None) -> None:
        self._threads = positive(threads, "threads") if threads is not None else cores()
        self._run = Once(lambda: _load(on_download))

    @property
    def dim(self) -> int:
        """384."""
        return 384

    @property
    def quick(self) -> bool:
        """Whether the model files are there."""
        return is_fetched("minilm")

    @property
    def name(self) -> str:
        """minilm."""
        return "minilm"

    @property
    def fingerprint(self) -> str:
        """A hash of the model file and of how it is used; the number of threads does not matter."""
        weights = MODELS["minilm"].files[0].hub.sha256
        return fingerprint_of(encoder="onnx", weights=weights, tokens=_TOKENS, pool="mean", unit=True)

    def _vectors(self, texts: list[str], kind: Kind, progress: Progress | None) -> Floats:
        vectors = np.empty((len(texts), self.dim), np.float32)
        starts = range(0, len(texts), _CHUNK)
        run = self._run()

        def fill(start: int) -> None:
            for row in range(start, min(start + _CHUNK, len(texts))):
                vectors[row] = run(texts[row])

        with ThreadPoolExecutor(min(self._threads, len(starts)), thread_name_prefix="gossamer-encode") as pool:
            try:
                # A single chunk, such as a query, needs no thread.
                for start, _ in zip(starts, (map if len(starts) == 1 else pool.map)(fill, starts), strict=True):
                    if progress is not None:
                        progress(min(start + _CHUNK, len(texts)), len(texts))
            except BaseException:
                pool.shutdown(cancel_futures=True)  # Ctrl-C should not wait for the rest of the corpus
                raise
        return vectors


def disable_telemetry() -> None:
    """Keep ONNX Runtime from reporting usage. It looks at the environment once, when it is imported."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def _load(progress: Progress | None) -> Callable[[str], Floats]:
    """The model as a function from one text to its vector, which threads may call at the same time."""
    disable_telemetry()
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError("The encoder minilm", "onnx") from error
    files = read_model("minilm", progress=progress)
    tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the threads are ours, one text to each
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(files["model_quantized.onnx"], options, providers=["CPUExecutionProvider"])

    def run(text: str) -> Floats:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        inputs: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        mean: Floats = session.run(None, inputs)[0][0].mean(axis=0)
        unit: Floats = mean / np.linalg.norm(mean)
        return unit

    return run
