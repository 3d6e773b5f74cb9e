"""A search service from the outside: add, search, explain, browse.

gossamer serve notes.gsm
python examples/client.py http://127.0.0.1:8080 [KEY]
"""

from __future__ import annotations

import sys

from gossamer import Client
from gossamer.errors import UnknownIdError

TEXTS = {
    "fox": "The red fox hunts mice in the snowy forest at night.",
    "wolf": "A pack of wolves hunts deer together in the forest.",
    "bread": "Bake the bread in a hot oven until the crust is brown.",
    "cake": "Bake the cake with butter, sugar and flour in the oven.",
    "moon": "The moon goes around the earth in about a month.",
    "mars": "Mars is a cold red planet with two small moons.",
}


def main(url: str, key: str | None = None) -> None:
    with Client(url, key=key) as ix:
        ix.add(list(TEXTS.values()), ids=list(TEXTS))  # all of them are durable when this returns
        for hit in ix.search("who hunts in the forest?", k=2):
            print(f"{hit.score:.2f}  {hit.id}: {hit.text}")
        for hits in ix.search(["what is baked?", "what goes around what?"], k=1):  # a list of queries in one request
            print(hits[0].id)
        ix.update(["fox", "wolf"], {"animal": True})  # nothing is encoded again
        print([hit.id for hit in ix.more_like("fox", k=1)])
        print(ix.explain("who hunts in the forest?", "cake").sentences[0])  # any document, found or not
        for topic in ix.topics(3).concepts:
            print(f"{topic.size} about {topic.label}")
        many = ({"id": f"note-{at}", "text": f"Note number {at}."} for at in range(1000))
        print(ix.add_stream(many, progress=lambda added: print(f"{added} are in")), "added as a stream")
        ix.delete([f"note-{at}" for at in range(1000)])
        try:
            ix.get("note-7")
        except UnknownIdError as error:  # the same exceptions as from an index in this process
            print(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
