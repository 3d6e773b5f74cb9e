"""What otherwise different passages share word by word is in no label; what similar ones share is."""

from __future__ import annotations

import random

import numpy as np
import pytest

from bag import encode
from explain.corpus import THEMES, document
from gossamer import Index
from gossamer.explain.boilerplate import boilerplate_of
from gossamer.explain.meaning import units

NOTICES = {
    "english": "Archived from the original in the Riverside Machine on request",
    "german": "Abgerufen über die Sammlung der Stadtbücherei Altenfels am Montag",
    "russian": "Архивировано из первоисточника в хранилище городской библиотеки",
}


@pytest.mark.parametrize("notice", NOTICES.values(), ids=NOTICES)
def test_a_notice_all_over_the_corpus_is_masked(notice: str) -> None:
    rng = random.Random(4)
    texts = [document(list(THEMES)[at % 5], rng) for at in range(100)]
    marked = [f"{text}. {notice}" if at % 4 == 0 else text for at, text in enumerate(texts)]
    found = boilerplate_of(marked, units(encode(texts)))
    assert found.masked(f"Moon, comet. {notice.upper()}! Tail") == "Moon, comet.  . ! Tail"
    assert found.masked(texts[1]) == texts[1]
    assert found.masked(notice.split()[0]) == notice.split()[0]


def test_scripts_without_spaces() -> None:
    notice = "この記事は町立図書館の保存資料から転載されました"
    words = ["月食", "自転車", "食パン", "弦楽器", "温室", "彗星", "小麦粉", "歯車", "指揮者", "果樹園"]
    found = boilerplate_of([f"{word}の話。{notice}。" for word in words], np.eye(len(words), dtype=np.float32))
    assert found.masked(f"望遠鏡。{notice}。") == "望遠鏡。 . 。"
    assert found.masked("望遠鏡で月を見る") == "望遠鏡で月を見る"


def test_what_similar_passages_share_is_their_subject() -> None:
    texts = [
        f"how do I bake sourdough bread {word}" for word in ["quickly", "slowly", "today", "alone", "outside", "twice"]
    ]
    same = np.ones((6, 3), np.float32) / np.sqrt(3.0)
    others = [document("sky", random.Random(at)) for at in range(6)]
    apart = units(np.concatenate([same, -same]).astype(np.float32))
    assert not boilerplate_of([*texts, *others], apart).sequences


def test_a_signature_is_found_among_posts_about_one_thing() -> None:
    rng = random.Random(7)
    signature = "Edda Quill, keeper of the lighthouse at the end of the northern pier"
    words = " ".join(THEMES.values()).split()
    posts = [" ".join(rng.sample(words, 12)) for _ in range(12)]
    alike = np.repeat(np.eye(2, dtype=np.float32), [6, 6], axis=0)
    signed = [f"{post} {signature}" if at < 4 else post for at, post in enumerate(posts)]
    assert "lighthouse" not in boilerplate_of(signed, alike).masked(signed[0])
    copies = [posts[0]] * 6 + posts[:6]
    assert not boilerplate_of(copies, alike).sequences, "copies of one text are no boilerplate"


def test_boilerplate_is_in_no_label() -> None:
    rng = random.Random(1)
    notice = "retrieved from the Riverside Machine of the county archive"
    texts = []
    for at in range(300):
        theme = list(THEMES)[at % 5]
        often = 0.5 if theme in ("sky", "music") else 0.05
        texts.append(document(theme, rng) + (f". {notice}" if rng.random() < often else ""))
    with Index(encode) as index:
        index.add(texts)
        assert index.concepts(depth=1)[0].children
        for concept in index.concepts(depth=None):
            if concept.children:
                assert not {"riverside", "machine", "county", "archive"} & set(concept.label.lower().split())
