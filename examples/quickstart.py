"""A first search: texts in, explained answers out. Needs no model files: `lsa` learns from the texts themselves.

python examples/quickstart.py
"""

from __future__ import annotations

from gossamer import Index

TEXTS = {
    "fox": "The red fox hunts mice in the snowy forest at night.",
    "wolf": "A pack of wolves hunts deer together in the forest.",
    "bread": "Bake the bread in a hot oven until the crust is brown.",
    "cake": "Bake the cake with butter, sugar and flour in the oven.",
    "moon": "The moon goes around the earth in about a month.",
    "mars": "Mars is a cold red planet with two small moons.",
}


def main() -> None:
    with Index(encoder="lsa") as ix:  # in memory; Index.create("texts.gsm") keeps it
        ix.add(list(TEXTS.values()), ids=list(TEXTS), metadata=[{"letters": len(id)} for id in TEXTS])
        for hit in ix.search("who hunts in the forest?", k=2):
            print(f"{hit.score:.2f}  {hit.id}: {hit.text}")
            print("      " + " > ".join(f"{concept.label} ({concept.size})" for concept in hit.path[1:]))
        why = ix.explain("who hunts in the forest?", "cake")  # any document, found or not
        print(f"{why.id} scores {why.score:.2f}: {why.dense:.2f} by meaning, {why.lexical:.2f} by words {why.words}")
        print([hit.id for hit in ix.search("something baked", where={"letters": {"$gte": 5}})])


if __name__ == "__main__":
    main()
