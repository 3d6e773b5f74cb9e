"""Clusters of docstrings in a pipeline of scikit-learn: vectors are decorrelated, then sorted into a tree of concepts.

python examples/scikit_learn.py
"""

from __future__ import annotations

import inspect
from importlib import import_module

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from gossamer import Whitener
from gossamer.integrations.scikit_learn import ConceptTree

MODULES = "argparse decimal email.message http.client pathlib random statistics tarfile threading unittest.case zipfile"


def docstrings() -> dict[str, str]:
    """The first paragraph of every public class and function of some modules."""
    found = {}
    for name in MODULES.split():
        for key, value in vars(import_module(name)).items():
            text = inspect.getdoc(value) if inspect.isclass(value) or inspect.isfunction(value) else None
            if text and not key.startswith("_") and value.__module__.startswith(name.split(".")[0]):
                found[f"{name}.{key}"] = f"{key}: {text.partition(chr(10) * 2)[0]}"
    return found


def main() -> None:
    texts = docstrings()
    words = make_pipeline(TfidfVectorizer(stop_words="english", sublinear_tf=True), TruncatedSVD(48, random_state=0))
    model = make_pipeline(words, Whitener(), ConceptTree(n_clusters=6, whiten=False)).fit(list(texts.values()))
    tree = model[-1]
    for cluster in range(tree.n_clusters_):
        members = [id for id, label in zip(texts, tree.labels_, strict=True) if label == cluster]
        print(f"{len(members):3}  {', '.join(members[:4])}")
    question = ["open an archive and read a member of it"]
    print("a question belongs to cluster", model.predict(question)[0], "by", np.round(model.transform(question)[0], 2))
    left, right, height, _ = tree.linkage()[0]
    print(f"clusters {left:.0f} and {right:.0f} are the first to merge, at {height:.3f}")
    tree.partial_fit(model[:-1].transform(["Zip: one more text, which finds its place in the same tree"]))
    print("it is in cluster", tree.labels_[0], "of the tree, which holds", len(tree.index_), "texts now")


if __name__ == "__main__":
    main()
