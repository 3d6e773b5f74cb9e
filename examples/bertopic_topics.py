"""BERTopic with Gossamer as its cluster model, and with Gossamer's tree as the hierarchy of its topics.

pip install bertopic      (or, without torch: pip install --no-deps bertopic; pip install pandas plotly tqdm)
python examples/bertopic_topics.py
"""

from __future__ import annotations

from bertopic import BERTopic
from bertopic.dimensionality import BaseDimensionalityReduction
from scikit_learn import docstrings  # the example beside this one
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from gossamer.integrations.scikit_learn import ConceptTree


def main() -> None:
    texts = list(docstrings().values())
    words = make_pipeline(TfidfVectorizer(stop_words="english", sublinear_tf=True), TruncatedSVD(48, random_state=0))
    vectors = words.fit_transform(texts)  # any vectors: those of a sentence encoder are better
    tree = ConceptTree(n_clusters=6)
    model = BERTopic(
        umap_model=BaseDimensionalityReduction(),  # the tree takes vectors of any dimension
        hdbscan_model=tree,
        vectorizer_model=CountVectorizer(stop_words="english"),
        embedding_model=None,
    )
    topics, _ = model.fit_transform(texts, vectors)
    for topic in range(6):
        print(f"{topics.count(topic):3}  {', '.join(word for word, _ in model.get_topic(topic)[:6])}")
    numbers = model.topic_mapper_.get_mappings()  # BERTopic sorts topics by size
    levels = model.hierarchical_topics(texts, linkage_function=lambda _: tree.linkage(numbers))
    print(model.get_topic_tree(levels))
    print("a question:", model.transform(["read a member of an archive"], words.transform(["read an archive"]))[0])


if __name__ == "__main__":
    main()
