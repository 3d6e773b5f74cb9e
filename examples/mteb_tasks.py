"""MTEB with Gossamer as its back end, on retrieval tasks made from local folders in BEIR's layout.

pip install "gossamer[mteb,onnx]"
python examples/mteb_tasks.py scifact/ cranfield/      # corpus.jsonl, queries.jsonl and qrels.tsv in each
python examples/mteb_tasks.py                          # six texts, without a model
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import mteb
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

from gossamer.cli.evaluation import read_collection
from gossamer.integrations.mteb import GossamerSearch

SMALL = {
    "corpus.jsonl": [
        '{"_id": "fox", "text": "The red fox hunts mice in the snowy forest at night."}',
        '{"_id": "wolf", "text": "A pack of wolves hunts deer together in the forest."}',
        '{"_id": "bread", "title": "Bread", "text": "Bake it in a hot oven until the crust is brown."}',
        '{"_id": "cake", "title": "Cake", "text": "Bake it with butter, sugar and flour in the oven."}',
        '{"_id": "moon", "text": "The moon goes around the earth in about a month."}',
        '{"_id": "mars", "text": "Mars is a cold red planet with two small moons."}',
    ],
    "queries.jsonl": ['{"_id": "q1", "text": "who hunts in the forest"}', '{"_id": "q2", "text": "baked in an oven"}'],
    "qrels.tsv": ["q1\tfox\t1", "q1\twolf\t2", "q2\tcake\t1"],
}


def local_task(folder: Path) -> AbsTaskRetrieval:
    """A task of MTEB whose documents, queries and answers are those of a folder."""
    judged = read_collection(str(folder))

    class Local(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name=f"Local{folder.name.title()}",
            description=f"The collection in {folder.name}",
            dataset={"path": str(folder), "revision": "local"},
            type="Retrieval",
            category="t2t",
            modalities=["text"],
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
        )

        def load_data(self, *args: Any, **kwargs: Any) -> None:
            texts = [{"id": id, "title": "", "text": text} for id, text in judged.documents.items()]
            queries = [{"id": id, "text": text} for id, text in judged.queries.items()]
            self.dataset = {"default": {"test": {
                "corpus": Dataset.from_list(texts),
                "queries": Dataset.from_list(queries),
                "relevant_docs": {id: dict(judged.answers[id]) for id in judged.queries},
                "top_ranked": None,
            }}}  # fmt: skip
            self.data_loaded = True

    return Local()


def main(*folders: str) -> None:
    with tempfile.TemporaryDirectory() as small:
        if not folders:
            for name, lines in SMALL.items():
                Path(small, name).write_text("\n".join(lines))
        tasks = [local_task(Path(folder)) for folder in folders or [small]]
        for method, hybrid in (("hybrid", True), ("dense", False)):
            model = GossamerSearch("minilm" if folders else "lsa", hybrid=hybrid)
            found = mteb.evaluate(model, tasks, cache=None, co2_tracker=False, show_progress_bar=False)
            for result in found.task_results:
                scores = result.scores["test"][0]
                measures = ", ".join(
                    f"{name} {scores[name]:.5f}" for name in ("ndcg_at_10", "recall_at_10", "mrr_at_10")
                )
                print(f"{result.task_name} {method}: {measures}")


if __name__ == "__main__":
    main(*sys.argv[1:])
