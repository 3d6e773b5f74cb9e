"""`gossamer eval run`: the quality of answers on a collection of one's own. gossamer-lab adds commands to `eval`."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gossamer.cli.command import command, examples
from gossamer.cli.options import Json, Quiet, complete_encoder
from gossamer.cli.screen import Screen

if TYPE_CHECKING:
    from rich.table import Table

    from gossamer.cli.suggestions import Suggestions

EXAMPLES = examples(
    "gossamer eval run my-collection/",
    "gossamer eval run my-collection/ --suggest",
    "gossamer eval run scifact --encoder lsa --methods dense,words",
)

app = typer.Typer(help="Measure retrieval on collections with known answers.", no_args_is_help=True, epilog=EXAMPLES)


@app.command(epilog=EXAMPLES)
@command
def run(
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv (BEIR's layout, each also as .gz), or the "
            "name of one in the data folder.",
        ),
    ],
    encoder: Annotated[
        str, typer.Option("--encoder", "--model", metavar="NAME", help="Encoder.", autocompletion=complete_encoder)
    ] = "minilm",
    methods: Annotated[str, typer.Option(help="Comma-separated: hybrid, dense, words.")] = "hybrid,dense,words",
    data: Annotated[
        Path | None, typer.Option(help="Folder whose data/ holds collections; else $GOSSAMER_DATA or ../shared.")
    ] = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Try settings of the search, and tell which would gain how much.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Index a collection in memory, search for every query that has known answers, and measure.

    Shows nDCG@10, recall@10 and MRR@10 in percent, and the seconds that all queries took. hybrid is the default
    search, dense is without words, words is BM25 alone. With --suggest, settings are tried on half of the queries and
    reported on the other half, with 95 % intervals; nothing is changed.
    """
    screen = Screen(json=json, quiet=quiet)
    with screen.working("reading"):
        from gossamer.cli.evaluation import check_method, evaluate, read_collection
        from gossamer.index import Index

        names = dict.fromkeys(name.strip() for name in methods.split(","))
        for name in names:
            check_method(name)
        judged = read_collection(collection, data)
    with Index(encoder) as index:
        start = time.perf_counter()
        with screen.bar("encoding", "texts", then="growing the tree") as bar:
            index.add(judged.documents.values(), judged.documents.keys(), progress=bar)
            index.settle()
        built = time.perf_counter() - start
        rows = []
        for name in names:
            with screen.bar(f"searching, {name}", "queries") as bar:
                (ndcg, recall, mrr), seconds = evaluate(index, judged, name, bar)
            rows.append({"method": name, "nDCG@10": ndcg, "recall@10": recall, "MRR@10": mrr, "seconds": seconds})
        suggestions = None
        if suggest:
            from gossamer.cli import suggestions as trials

            with screen.bar("trying settings", "queries") as bar:
                suggestions = trials.suggest(index, judged, bar)
    sizes = {"documents": len(judged.documents), "queries": len(judged.queries)}
    if json:
        found = {"collection": judged.name, **sizes, "encoder": encoder, "build_seconds": built, "methods": rows}
        screen.emit(found if suggestions is None else {**found, "suggestions": _as_json(suggestions)})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in rows[0]:
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in rows:
        table.add_row(*(value if isinstance(value, str) else f"{value:.1f}" for value in row.values()))
    about = ", ".join(f"{count:,} {what}" for what, count in sizes.items())
    screen.show(f"{judged.name}: {about}, encoder {encoder}, built in {built:.1f} s", table)
    if suggestions is not None:
        screen.show(_gains(suggestions), suggestions.sentence)


def _as_json(suggestions: "Suggestions") -> dict[str, Any]:
    return {**asdict(suggestions), "sentence": suggestions.sentence}


def _gains(suggestions: "Suggestions") -> "Table":
    """What each setting gains over the default on all queries."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("setting")
    for column in ("nDCG@10 gained", "from", "to"):
        table.add_column(column, justify="right")
    for gain in suggestions.gains:
        table.add_row(gain.setting, *(f"{value:+.1f}" for value in (gain.mean, gain.low, gain.high)))
    return table
