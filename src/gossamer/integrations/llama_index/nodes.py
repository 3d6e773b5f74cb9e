"""Nodes of LlamaIndex ↔ documents of an index.

A text node, by far the most frequent kind, becomes the metadata it has and one field more, `_node`: its other fields as
JSON, relationships, templates and the like. Other nodes are kept as LlamaIndex itself writes them.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from gossamer.results import Document, Hit

SOURCE: Final = "ref_doc_id"
"""The metadata field with the id of the document that a node is a part of."""

_REST: Final = "_node"

_NODE: Final = vars(TextNode(id_="-"))
_RELATED: Final = vars(RelatedNodeInfo(node_id="-"))
"""The fields of both, as they are unless told otherwise."""

_NODE_NAMES: Final = set(_NODE)
_RELATED_NAMES: Final = set(_RELATED)
_KINDS: Final = {kind.value: kind for kind in NodeRelationship}

_set = object.__setattr__

T = TypeVar("T")


def as_metadata(node: BaseNode) -> dict[str, Any]:
    """All of a node but its text and vector."""
    if type(node) is not TextNode:
        return node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    rest = node.model_dump(mode="json", exclude={"text", "embedding", "metadata"}, exclude_defaults=True)
    rest.pop("class_name", None)
    if node.relationships:
        rest["relationships"] = {kind.value: _fields_of(each) for kind, each in node.relationships.items()}
    metadata = node.model_dump(mode="json", include={"metadata"})["metadata"]
    if metadata.keys() & {_REST, SOURCE}:
        rest["metadata"] = metadata  # as it was: two of its fields are written over
    return {**metadata, _REST: rest, SOURCE: node.ref_doc_id or "None"}


def _fields_of(related: Any) -> Any:
    """Another node, or a list of them, as JSON."""
    if isinstance(related, list):
        return [_fields_of(each) for each in related]
    told: dict[str, Any] = related.model_dump(mode="json")
    told.pop("class_name", None)
    return told


def as_node(found: Document | Hit) -> BaseNode:
    """The node as it was added; a text node of a document that came otherwise. It takes over the metadata."""
    metadata = found.metadata
    if "_node_content" in metadata:
        return metadata_dict_to_node(metadata, text=found.text)
    rest = metadata.pop(_REST, None)
    if rest is None:
        return TextNode(id_=found.id, text=found.text, metadata=metadata)
    metadata.pop(SOURCE, None)
    related = {_KINDS[kind]: _related(told) for kind, told in rest.pop("relationships", {}).items()}
    fresh: dict[str, Any] = {"excluded_embed_metadata_keys": [], "excluded_llm_metadata_keys": []}
    fields = {**_NODE, **fresh, "metadata": metadata, **rest, "relationships": related, "text": found.text}
    if len(fields) > len(_NODE):  # another version wrote it, and had other fields
        return TextNode(**fields)
    return _restored(TextNode, fields, _NODE_NAMES)


def _related(told: Any) -> Any:
    """Another node, or a list of them."""
    if isinstance(told, list):
        return [_related(each) for each in told]
    if "class_name" in told or len(told) != len(_RELATED):  # another version wrote it, without fields that are empty
        return RelatedNodeInfo(**told)
    return _restored(RelatedNodeInfo, told, _RELATED_NAMES)


def _restored(kind: type[T], fields: dict[str, Any], names: set[str]) -> T:
    """A model of pydantic, set as pickle sets it: its fields were checked when the node was added.

    To check them again takes 2 % of the time of a search. All share `names`, to which pydantic adds what is assigned.
    """
    made = object.__new__(kind)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", names)
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made
