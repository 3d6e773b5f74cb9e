"""Options and arguments that several commands take."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from gossamer.results import Concept


def complete_index(incomplete: str) -> list[str]:
    """Paths that may be an index or lead to one, for shell completion."""
    folder, start = os.path.split(incomplete)
    try:
        with os.scandir(folder or ".") as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir() and entry.name.startswith(start))
    except OSError:
        return []
    visible = [name for name in names if not name.startswith(".") or start.startswith(".")]
    return [os.path.join(folder, name if name.endswith(".gsm") else name + os.sep) for name in visible]


def complete_encoder(incomplete: str) -> list[str]:
    """Names of encoders, for shell completion."""
    kinds = ("minilm", "lsa", "st:", "hf:", "model2vec:", "fastembed:", "openai:", "ollama:")
    return [name for name in kinds if name.startswith(incomplete)]


IndexPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="INDEX", help="The index: a .gsm folder.", autocompletion=complete_index)
]
EncoderName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="The index's encoder, if it is one that you have to name: any but minilm and lsa.",
        autocompletion=complete_encoder,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no notices.")]
TextFields: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--text-field", help="The field with the text, in tables and JSON. Repeated, they are joined."),
]
Where: TypeAlias = Annotated[
    str | None, typer.Option(metavar="JSON", help='Only documents whose metadata match, as {"year": {"$gte": 2020}}.')
]
Within: TypeAlias = Annotated[int | None, typer.Option(metavar="ID", help="Only below this concept (see tree).")]
Hybrid: TypeAlias = Annotated[bool, typer.Option("--hybrid/--no-hybrid", help="Let shared words count too.")]
Weight: TypeAlias = Annotated[
    float | None, typer.Option(min=0.0, help="How much shared words count; without it 0.1 to 0.4, by the query.")
]


def parse_where(text: str | None) -> dict[str, Any] | None:
    """The JSON object of --where; the index checks what it means."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        message = f"not valid JSON ({error}): write '{{\"year\": 2020}}', with the quotes"
        raise typer.BadParameter(message, param_hint="--where") from error
    if not isinstance(value, dict):
        raise typer.BadParameter('an object such as {"year": 2020} is needed', param_hint="--where")
    return value


def hybrid_weight(hybrid: bool, weight: float | None) -> bool | float:
    """--hybrid and --weight as the one argument of `Index.search`."""
    if weight is not None and not hybrid:
        raise typer.BadParameter("--no-hybrid and --weight contradict each other: leave one out", param_hint="--weight")
    return hybrid if weight is None else weight


def concept_path(path: tuple[Concept, ...]) -> list[dict[str, Any]]:
    """A path as JSON values, without the children and exemplars of its concepts."""
    return [{name: getattr(step, name) for name in ("id", "depth", "size", "label", "basic")} for step in path]
