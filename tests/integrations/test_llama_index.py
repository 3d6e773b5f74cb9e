"""LlamaIndex: the store behind a `VectorStoreIndex`, without a network; filters; retrievers that explain."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the group integrations: make test-integrations")

from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import IndexNode, NodeRelationship, ObjectType, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

import bag
from gossamer import Index
from gossamer.errors import ParameterError
from gossamer.integrations.llama_index import GossamerRetriever, GossamerVectorStore, HierarchicalRetriever
from integrations.texts import IDS, METADATA, TEXTS

pytestmark = [
    # LlamaIndex's own: pydantic's and asyncio's deprecations in what it imports.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:llama_index"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pydantic"),
]


class BagEmbedding(BaseEmbedding):
    """Hashed words as an embedding model of LlamaIndex."""

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = bag.encode([text])[0].tolist()
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def nodes() -> list[TextNode]:
    made = []
    for id, text, metadata in zip(IDS, TEXTS, METADATA, strict=True):
        source = RelatedNodeInfo(node_id="wild" if metadata["year"] < 2022 else "tame")
        node = TextNode(id_=id, text=text, metadata={**metadata, "tags": [id, "all"]})
        node.relationships[NodeRelationship.SOURCE] = source
        made.append(node)
    return made


@pytest.fixture
def store() -> Iterator[GossamerVectorStore]:
    store = GossamerVectorStore()
    yield store
    store.client.close()


@pytest.fixture
def index(store: GossamerVectorStore) -> VectorStoreIndex:
    context = StorageContext.from_defaults(vector_store=store)
    return VectorStoreIndex(nodes(), storage_context=context, embed_model=BagEmbedding())


def test_nodes_come_back_as_they_were_added(index: VectorStoreIndex, store: GossamerVectorStore) -> None:
    found = index.as_retriever(similarity_top_k=2).retrieve(TEXTS[0])
    assert found[0].node_id == "fox"
    assert found[0].node == nodes()[0]
    assert found[0].score is not None
    assert found[0].score > 0.9  # not 1: what is embedded of a node has its metadata in it
    assert [node.node_id for node in store.get_nodes()] == IDS


async def test_retrieval_is_async_too(index: VectorStoreIndex) -> None:
    found = await index.as_retriever(similarity_top_k=1).aretrieve(TEXTS[3])
    assert [each.node_id for each in found] == ["bread"]


def test_a_mock_embedding_of_equal_vectors_is_no_error() -> None:
    store = GossamerVectorStore()
    context = StorageContext.from_defaults(vector_store=store)
    index = VectorStoreIndex(nodes(), storage_context=context, embed_model=MockEmbedding(embed_dim=6))
    assert len(index.as_retriever(similarity_top_k=3).retrieve("anything")) == 3
    store.client.close()


def test_every_kind_of_node_comes_back(store: GossamerVectorStore) -> None:
    vector = bag.encode(["a text"])[0].tolist()
    clash = TextNode(
        id_="a", text="a text", metadata={"ref_doc_id": "mine", "_node": 1, "day": "today"}, text_template="t"
    )
    others = [IndexNode(id_="b", text="an index", index_id="x"), clash]
    store.add([node.model_copy(update={"embedding": vector}) for node in others])
    assert store.get_nodes(["b", "a"]) == others
    store.client.add("came otherwise", "c", {"year": 1}, vectors=[vector])
    assert store.get_nodes(["c"]) == [TextNode(id_="c", text="came otherwise", metadata={"year": 1})]


def chunk() -> TextNode:
    """A node as a splitter makes it of a document, with all that it may have."""
    node = TextNode(
        id_="a",
        text="a text",
        metadata={"day": "today", "tags": ["b"]},
        excluded_embed_metadata_keys=["day"],
        start_char_idx=3,
        end_char_idx=9,
        text_template="{content}",
    )
    source = RelatedNodeInfo(node_id="doc", node_type=ObjectType.DOCUMENT, metadata={"day": "today"}, hash="c0ffee")
    node.relationships = {
        NodeRelationship.SOURCE: source,
        NodeRelationship.NEXT: RelatedNodeInfo(node_id="b"),
        NodeRelationship.CHILD: [
            RelatedNodeInfo(node_id="c"),
            RelatedNodeInfo(node_id="d", node_type=ObjectType.TEXT, hash="0"),
        ],
    }
    return node


def test_a_node_that_comes_back_is_a_whole_one(store: GossamerVectorStore) -> None:
    """It is not checked again when it is read, and yet the same as one that was."""
    store.add([chunk().model_copy(update={"embedding": bag.encode(["a text"])[0].tolist()})])
    (found,), (again,) = store.get_nodes(["a"]), store.get_nodes(["a"])
    assert found == chunk()
    assert found.model_dump() == chunk().model_dump()
    assert found.hash == chunk().hash
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.source_node is not None
    assert found.source_node.node_type == ObjectType.DOCUMENT
    with pytest.raises(ValueError, match="valid string"):
        found.text = 5
    plain = TextNode(text="another", embedding=bag.encode(["another"])[0].tolist())
    store.add([plain])
    others: list[Any] = [again, *store.get_nodes([plain.node_id]), *store.get_nodes([plain.node_id])]
    for one, other in itertools.pairwise([found, *others]):
        shared = [name for name, value in vars(one).items() if value is vars(other)[name]]
        assert [name for name in shared if isinstance(vars(one)[name], list | dict | set)] == []


def test_nodes_that_other_versions_wrote_are_read(store: GossamerVectorStore) -> None:
    written = chunk().model_dump(mode="json", exclude={"text", "embedding", "metadata"}, exclude_defaults=True)
    assert "class_name" in written["relationships"]["1"]
    metadata = {**chunk().metadata, "_node": {**written, "a_field_of_another_version": 1}, "ref_doc_id": "doc"}
    older = {**metadata, "_node": {**written, "id_": "older"}}
    del older["_node"]["class_name"]
    store.client.add(["a text", "a text"], ["a", "older"], [metadata, older], vectors=bag.encode(["a text"] * 2))
    assert store.get_nodes(["a", "older"]) == [chunk(), chunk().model_copy(update={"id_": "older"})]


def test_deleting(index: VectorStoreIndex, store: GossamerVectorStore) -> None:
    index.delete_ref_doc("tame")
    assert {node.metadata["year"] for node in store.get_nodes()} == {2019, 2020, 2021}
    store.delete_nodes(["fox", "not there"])
    assert "fox" not in [node.node_id for node in store.get_nodes()]
    store.delete_nodes(filters=MetadataFilters(filters=[MetadataFilter(key="year", value=2020)]))
    assert [node.node_id for node in store.get_nodes()] == ["owl", "pie"]
    store.delete_nodes()
    assert len(store.get_nodes(["owl", "gone"])) == 1
    store.clear()
    assert store.get_nodes() == []
    store.delete("anything")


TAME = ["bread", "moon", "mars", "venus"]
FILTERS: list[tuple[list[tuple[str, Any, FilterOperator]], FilterCondition, list[str]]] = [
    ([("year", 2019, FilterOperator.EQ)], FilterCondition.AND, ["fox"]),
    ([("year", 2021, FilterOperator.GT)], FilterCondition.AND, TAME),
    ([("year", 2019, FilterOperator.GT), ("year", 2021, FilterOperator.LT)], FilterCondition.AND, ["wolf", "cake"]),
    ([("year", 2019, FilterOperator.LTE), ("year", 2024, FilterOperator.GTE)], FilterCondition.OR, ["fox", "mars"]),
    ([("year", [2019, 2024], FilterOperator.IN)], FilterCondition.AND, ["fox", "mars"]),
    ([("year", [2020, 2021, 2022, 2023], FilterOperator.NIN)], FilterCondition.AND, ["fox", "mars"]),
    ([("year", 2021, FilterOperator.LTE), ("year", 2022, FilterOperator.EQ)], FilterCondition.NOT, ["mars", "venus"]),
    ([("tags", "owl", FilterOperator.CONTAINS)], FilterCondition.AND, ["owl"]),
    ([("tags", ["owl", "pie"], FilterOperator.ANY)], FilterCondition.AND, ["owl", "pie"]),
    ([("tags", ["all", "pie"], FilterOperator.ALL)], FilterCondition.AND, ["pie"]),
    ([("ref_doc_id", "ame", FilterOperator.TEXT_MATCH)], FilterCondition.AND, TAME),
    ([("ref_doc_id", "TAM", FilterOperator.TEXT_MATCH_INSENSITIVE)], FilterCondition.AND, TAME),
    ([("nothing", None, FilterOperator.IS_EMPTY), ("year", 2019, FilterOperator.EQ)], FilterCondition.AND, ["fox"]),
]


@pytest.mark.filterwarnings("ignore::gossamer.errors.UnknownFieldWarning")
@pytest.mark.parametrize(("conditions", "condition", "expected"), FILTERS)
def test_filters(
    index: VectorStoreIndex, store: GossamerVectorStore, conditions: Any, condition: Any, expected: Any
) -> None:
    made: Any = [MetadataFilter(key=key, value=value, operator=operator) for key, value, operator in conditions]
    filters = MetadataFilters(filters=made, condition=condition)
    assert [node.node_id for node in store.get_nodes(filters=filters)] == expected
    found = index.as_retriever(similarity_top_k=9, filters=MetadataFilters(filters=[filters])).retrieve("forest")
    assert {each.node_id for each in found} == set(expected)


def test_modes_and_ids(index: VectorStoreIndex, store: GossamerVectorStore) -> None:
    def ids(**query: Any) -> list[str]:
        found = store.query(VectorStoreQuery(bag.encode(["forest"])[0].tolist(), 9, query_str="forest", **query))
        return found.ids or []

    assert sorted(ids()) == sorted(IDS)
    assert set(ids(mode=VectorStoreQueryMode.HYBRID)[:3]) == {"fox", "wolf", "owl"}
    assert set(ids(mode=VectorStoreQueryMode.TEXT_SEARCH)) == {"fox", "wolf", "owl"}
    assert len(ids(mode=VectorStoreQueryMode.MMR)) == 9
    assert set(ids(doc_ids=["tame"])) == {"bread", "moon", "mars", "venus"}
    assert ids(node_ids=["pie"]) == ["pie"]
    assert ids(node_ids=["pie"], doc_ids=["tame"]) == []
    with pytest.raises(ValueError, match="mode 'svm' is not there"):
        ids(mode=VectorStoreQueryMode.SVM)


def test_persisting(index: VectorStoreIndex, store: GossamerVectorStore, tmp_path: Path) -> None:
    store.persist(str(tmp_path / "copy.gsm"))
    again = GossamerVectorStore.from_persist_path(str(tmp_path / "copy.gsm"), concepts=True)
    index = VectorStoreIndex.from_vector_store(again, BagEmbedding())
    (found,) = index.as_retriever(similarity_top_k=1).retrieve(TEXTS[0])
    assert found.node_id == "fox"
    assert found.metadata["concepts"]
    with pytest.raises(ValueError, match="leave fs out"):
        again.persist(str(tmp_path / "other.gsm"), fs=object())
    again.client.close()


def test_answers_are_explained(index: VectorStoreIndex, store: GossamerVectorStore) -> None:
    retriever = GossamerRetriever(store, k=1, embed_model=BagEmbedding())
    (found,) = retriever.retrieve("hunts mice in the forest")
    assert found.metadata["document"] in ("fox", "owl")
    assert found.metadata["explanation"]
    assert found.metadata["concepts"] == [
        concept.label
        for concept in store.client.search(None, 1, vector=bag.encode(["hunts mice in the forest"])[0])[0].path[:-1]
    ]


def test_broad_questions_are_answered_by_concepts() -> None:
    with Index("lsa") as index:
        index.add(TEXTS, IDS, METADATA)
        narrow = HierarchicalRetriever(index, k=2)
        assert [each.metadata["kind"] for each in narrow.retrieve(TEXTS[0])] == ["passage", "passage"]
        assert narrow.retrieve(TEXTS[0])[0].metadata["document"] == "fox"
        broad = HierarchicalRetriever(index, k=2, narrow=1.1)
        found = broad.retrieve("hunting in the forest")
        assert {each.metadata["kind"] for each in found} == {"concept"}
        assert found[0].metadata["concept"] == index.find_concepts("hunting in the forest")[0].concept.id
        assert {"fox", "wolf", "owl"} & set(found[0].metadata["documents"])
        forced = HierarchicalRetriever(index, k=2, answer_with="concepts").retrieve(TEXTS[0])
        assert {each.metadata["kind"] for each in forced} == {"concept"}
        with pytest.raises(ParameterError, match="answer_with"):
            HierarchicalRetriever(index, answer_with="both")  # type: ignore[arg-type]
