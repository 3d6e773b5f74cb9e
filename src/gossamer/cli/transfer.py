"""`gossamer import` and `gossamer export`: vectors from other stores and for them, without encoding anything again."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.formatting import documents
from gossamer.cli.opening import filling, opened
from gossamer.cli.options import EncoderName, IndexPath, Json, Quiet, complete_encoder, complete_index
from gossamer.cli.screen import Screen
from gossamer.errors import InputError
from gossamer.plain_text import counted

if TYPE_CHECKING:
    from gossamer.integrations.transfer import Rows

CHROMA_EXAMPLES = examples(
    "gossamer import chroma chroma/ --to notes.gsm",
    "gossamer import chroma chroma/ --collection notes --to notes.gsm --json",
)
LANCEDB_EXAMPLES = examples(
    "gossamer import lancedb lance/ --to notes.gsm",
    "gossamer import lancedb lance/ --table notes --text body --to notes.gsm --encoder st:all-mpnet-base-v2",
)
PARQUET_EXAMPLES = examples(
    "gossamer import parquet notes.parquet --to notes.gsm",
    "gossamer import parquet notes.parquet --vector embedding --text body --to notes.gsm",
)
FAISS_EXAMPLES = examples(
    "gossamer import faiss notes.faiss --texts notes.jsonl --to notes.gsm",
    "gossamer import faiss notes.faiss --texts lines.txt --to notes.gsm --encoder st:all-mpnet-base-v2",
)
EXPORT_EXAMPLES = examples("gossamer export notes.gsm --to notes.parquet", "gossamer export notes.gsm --to notes.faiss")

app = typer.Typer(
    help="Take documents over from another store, with the vectors they have.",
    no_args_is_help=True,
    epilog=examples(
        "gossamer import chroma chroma/ --to notes.gsm", "gossamer import parquet notes.parquet --to notes.gsm"
    ),
)

Target: TypeAlias = Annotated[
    Path,
    typer.Option("--to", metavar="INDEX", help="The index; made if it is not there.", autocompletion=complete_index),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="The model that made the vectors: queries are encoded by it. Of a new index, minilm unless named.",
        autocompletion=complete_encoder,
    ),
]
Text: TypeAlias = Annotated[str, typer.Option(help="The column of texts.")]
Id: TypeAlias = Annotated[str | None, typer.Option(help='The column of ids; else "id", or rows are numbered.')]
Vector: TypeAlias = Annotated[str | None, typer.Option(help='The column of vectors; else "vector" or "embedding".')]


@app.command(epilog=CHROMA_EXAMPLES)
@command
def chroma(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that holds chroma.sqlite3.")],
    to: Target,
    collection: Annotated[str | None, typer.Option(help="The collection, if there are several.")] = None,
    encoder: Model = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take a Chroma collection over. Its default model is the one that is called minilm here."""
    from gossamer.integrations.transfer import from_chroma

    _take(from_chroma(path, collection), to, encoder, Screen(json=json, quiet=quiet))


@app.command(epilog=LANCEDB_EXAMPLES)
@command
def lancedb(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the database.")],
    to: Target,
    table: Annotated[str | None, typer.Option(help="The table, if there are several.")] = None,
    text: Text = "text",
    id: Id = None,
    vector: Vector = None,
    encoder: Model = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take a LanceDB table over. Other columns become metadata."""
    from gossamer.integrations.transfer import from_lancedb

    rows = from_lancedb(path, table, text=text, id=id, vector=vector)
    _take(rows, to, encoder, Screen(json=json, quiet=quiet))


@app.command(epilog=PARQUET_EXAMPLES)
@command
def parquet(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A Parquet file with a column of vectors.")],
    to: Target,
    text: Text = "text",
    id: Id = None,
    vector: Vector = None,
    encoder: Model = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take a Parquet file of vectors over. Other columns become metadata; of an export all is as it was."""
    from gossamer.integrations.transfer import from_parquet

    _take(from_parquet(path, text=text, id=id, vector=vector), to, encoder, Screen(json=json, quiet=quiet))


@app.command(epilog=FAISS_EXAMPLES)
@command
def faiss(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What faiss.write_index wrote.")],
    to: Target,
    texts: Annotated[
        Path, typer.Option(metavar="FILE", help="The texts, in the order of the vectors: .jsonl, .csv, .parquet, …")
    ],
    encoder: Model = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take a FAISS index over. It holds no texts: they come from a file, a row for each vector, with or without ids."""
    from gossamer.integrations.transfer import from_faiss
    from gossamer.readers import read

    records = list(read(texts, lines=True))
    ids, fields = [each.id for each in records], [each.metadata for each in records]
    rows = from_faiss(path, [each.text for each in records], ids, fields)
    _take(rows, to, encoder, Screen(json=json, quiet=quiet))


def _take(rows: Iterable[Rows], path: Path, encoder: str | None, screen: Screen) -> None:
    from gossamer.index import Index
    from gossamer.integrations.transfer import take_over

    start, source = time.perf_counter(), iter(rows)
    first = list(islice(source, 1))  # what is wrong with the source is known before an index is made
    made = not path.exists()
    if made:
        Index.create(path, encoder or "minilm").close()
    with filling(path, screen, encoder, made=made) as index:
        with screen.bar("reading", "documents") as bar:
            taken = take_over(index, chain(first, source), progress=bar)
        held = len(index)
    seconds = time.perf_counter() - start
    if screen.json:
        screen.emit({"index": str(path), **taken._asdict(), "held": held, "seconds": seconds})
        return
    left_out = f", {taken.without_text:,} without text left out" if taken.without_text else ""
    screen.show(f"{documents(taken.documents)} taken over in {seconds:.1f} s{left_out}; {path} holds {held:,}")


@command
def export(
    index: IndexPath,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="A name that ends in .parquet or .faiss.")],
    encoder: EncoderName = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write all passages with their vectors for another store: Parquet, or FAISS with a .jsonl of texts beside it.

    'gossamer import parquet' takes documents, metadata and vectors back exactly, but not those of lsa, whose vectors
    fit one index alone; 'gossamer backup' copies all there is.
    """
    from gossamer.index import Unloaded
    from gossamer.integrations.transfer import to_faiss, to_parquet

    writers = {".parquet": to_parquet, ".faiss": to_faiss}
    if to.suffix not in writers:
        raise InputError(f"{to} ends neither in .parquet nor in .faiss: name the file by what it shall be")
    screen = Screen(json=json, quiet=quiet)
    with opened(index, screen, encoder=Unloaded() if encoder is None else encoder) as ix, screen.working("writing"):
        written, held = writers[to.suffix](ix, to), len(ix)
    if screen.json:
        screen.emit({"file": str(to), "documents": held, "passages": written})
        return
    screen.show(f"{documents(held)} written to {to}, as {counted(written, 'passage')}: a row for each passage")
    screen.say(f"for a copy of the index itself: gossamer backup {shlex.quote(str(index))} COPY.gsm")
