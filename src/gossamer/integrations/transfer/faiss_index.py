"""FAISS: an index of vectors without texts, which come from elsewhere in the same order."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.errors import DiskError, InputError
from gossamer.index import Index, exported
from gossamer.integrations.common import library
from gossamer.integrations.transfer.rows import Rows

_BATCH: Final = 10_000
_RESERVED: Final = ("id", "document", "text")


def from_faiss(
    source: Any,
    texts: Sequence[str | None],
    ids: Sequence[str] | None = None,
    metadata: Sequence[Mapping[str, Any]] | None = None,
) -> Iterator[Rows]:
    """The vectors of a FAISS index, or of the file of one, each with its text (and id, metadata), in order.

    Without `ids` those of an IndexIDMap are used, or else the numbers of the rows. An index that compresses vectors
    (PQ, SQ) gives them back as it can: nearly.
    """
    faiss = library("faiss", "Reading a FAISS index", "faiss")
    owner = _read(faiss, source) if isinstance(source, str | os.PathLike) else source
    own, index = _without_id_map(faiss, owner)  # a view: the memory is the owner's, which lives as long as this call
    for name, given in (("texts", texts), ("ids", ids), ("metadata", metadata)):
        if given is not None and len(given) != index.ntotal:
            raise InputError(f"got {len(given)} {name} for {index.ntotal} vectors: pass one for each, in their order")
    if hasattr(index, "make_direct_map"):
        index.make_direct_map()
    for start in range(0, index.ntotal, _BATCH):
        stop = min(index.ntotal, start + _BATCH)
        try:
            vectors: npt.NDArray[np.float32] = index.reconstruct_n(start, stop - start)
        except RuntimeError as error:
            kind = type(index).__name__
            raise InputError(f"{kind} does not give its vectors back ({error}): bring them as Parquet") from error
        names = own[start:stop] if ids is None else ids[start:stop]
        fields = [{}] * (stop - start) if metadata is None else metadata[start:stop]
        yield Rows([str(each) for each in names], list(texts[start:stop]), vectors, [dict(each) for each in fields])


def to_faiss(index: Index, path: str | os.PathLike[str]) -> int:
    """Write the vectors of all passages as an IndexFlatIP, and beside it a .jsonl with id, text and metadata of each.

    Returns how many. The file beside it has the same name with .jsonl at the end, a line for each vector; a field of
    the metadata that is called id, document or text becomes "metadata.<name>".
    """
    faiss = library("faiss", "Writing a FAISS index", "faiss")
    target = Path(path)
    flat = faiss.IndexFlatIP(index.info().dim or 1)
    aside = target.with_name(f".{target.name}.part"), target.with_name(f".{target.name}.jsonl.part")
    try:
        with aside[1].open("w", encoding="utf-8") as lines:
            for some in exported(index):
                flat.add(np.stack([each.vector for each in some]))
                for each in some:
                    row = {"id": each.id, "text": each.text}
                    row |= {} if each.id == each.document else {"document": each.document}
                    row |= {f"metadata.{name}" if name in _RESERVED else name: it for name, it in each.metadata.items()}
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        faiss.write_index(flat, str(aside[0]))
        aside[1].replace(f"{target}.jsonl")
        aside[0].replace(target)
    except (OSError, RuntimeError) as error:  # FAISS raises the latter
        raise DiskError(f"{target} cannot be written: {error}") from error
    finally:
        for part in aside:
            part.unlink(missing_ok=True)
    return int(flat.ntotal)


def _read(faiss: Any, path: str | os.PathLike[str]) -> Any:
    if not Path(path).is_file():
        raise DiskError(f"there is no FAISS index at {path}: give the file that faiss.write_index wrote")
    try:
        return faiss.read_index(str(path))
    except RuntimeError as error:
        raise DiskError(f"{path} cannot be read as a FAISS index: {error}") from error


def _without_id_map(faiss: Any, index: Any) -> tuple[Sequence[Any], Any]:
    """The ids of the vectors, and the index that holds them."""
    index = faiss.downcast_index(index)
    if not hasattr(index, "id_map"):
        return range(index.ntotal), index
    return faiss.vector_to_array(index.id_map).tolist(), faiss.downcast_index(index.index)
