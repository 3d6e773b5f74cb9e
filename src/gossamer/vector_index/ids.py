"""The ids people use, beside the document numbers the tree uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gossamer.array_types import NONE, Longs
from gossamer.errors import CorruptError, DtypeError, DuplicateIdError, InputError, ParameterError, UnknownIdError
from gossamer.files.bundle import CURE, Arrays, Bundle
from gossamer.results import DocId
from gossamer.tree.arrays import TreeArrays
from gossamer.tree.scoring import Ranked

_MOST: Final = 2**62
"""Ids that are numbers are smaller."""


class IdMap:
    """Ids of one kind, all int or all str, each with the number of its document; and back."""

    def __init__(self) -> None:
        self._number_of: dict[DocId, int] = {}
        self._id_of: list[DocId | None] = []
        self._next = 0
        self._last: DocId | None = None  # the highest id so far
        self.in_order = True
        """Whether documents came in order of their ids, so that ties by number are ties by id."""
        self._are_numbers = True  # whether the id of each document is its number: then nothing has to be looked up

    def __len__(self) -> int:
        return len(self._number_of)

    def __contains__(self, id: object) -> bool:
        return id in self._number_of

    def __iter__(self) -> Iterator[DocId]:
        return iter(self._number_of)

    @property
    def kind(self) -> type | None:
        """int or str; None while there are none."""
        return type(next(iter(self._number_of))) if self._number_of else None

    def number(self, id: Any) -> int:
        """The document number of an id."""
        id = id.item() if isinstance(id, np.generic) else id
        try:
            if isinstance(id, bool | float):  # True and 1.0 are keys of 1 to a dict
                raise KeyError(id)
            return self._number_of[id]
        except (KeyError, TypeError):
            raise UnknownIdError(f"id {id!r} is not in the index, which holds {len(self)} documents") from None

    def find(self, id: DocId) -> int | None:
        """The document number of an id; None where there is none."""
        return self._number_of.get(id)

    def known(self, ids: Iterable[Any]) -> list[DocId]:
        """Those of `ids` that documents have, each once. What is no id, or of another type than these, is refused."""
        wanted = dict.fromkeys(_as_id(id) for id in ids)
        for id in wanted:
            if self.kind not in (None, type(id)):
                raise DtypeError(f"the ids of this index are {self.kind.__name__}, got {id!r}: convert it")
        return [id for id in wanted if id in self._number_of]

    def numbers(self) -> dict[DocId, int]:
        """All ids with the numbers of their documents, as they are now."""
        return self._number_of.copy()

    def check_new(self, ids: Iterable[Any] | None, rows: int) -> list[DocId]:
        """`ids` for `rows` new documents, checked: as many, of one kind, none twice. None numbers them on."""
        if ids is None:
            if self.kind is str:
                raise ParameterError("the ids of this index are strings: pass ids for the new vectors")
            if self._next + rows > _MOST:
                raise ParameterError(f"ids are numbered on from {self._next}, and end below 2**62: pass ids")
            return list(range(self._next, self._next + rows))
        checked = [_as_id(id) for id in as_several(ids)]
        if len(checked) != rows:
            raise InputError(f"got {len(checked)} ids for {rows} vectors: pass one id for each")
        kinds = {type(id) for id in checked} | ({self.kind} - {None})
        if len(kinds) > 1:
            raise DtypeError("ids are either all int or all str within one index, got both: convert them with str()")
        if len(set(checked)) < len(checked):
            twice = next(id for at, id in enumerate(checked) if id in set(checked[:at]))
            raise DuplicateIdError(f"id {twice!r} is given twice in one call: keep one of the two")
        return checked

    def assign(self, ids: Sequence[DocId], numbers: npt.NDArray[np.int64]) -> None:
        """Give `ids` to the documents `numbers`; an id that was in use moves."""
        if not len(ids):
            return
        self._note_order(ids, numbers)
        self._id_of.extend([None] * (int(numbers[-1]) + 1 - len(self._id_of)))
        places = numbers.tolist()
        self._are_numbers = self._are_numbers and places == list(ids)
        self._number_of.update(zip(ids, places, strict=True))
        for id, number in zip(ids, places, strict=True):
            self._id_of[number] = id
        if isinstance(ids[0], int):
            self._next = max(self._next, 1 + int(np.max(np.asarray(ids))))

    def _note_order(self, ids: Sequence[Any], numbers: npt.NDArray[np.int64]) -> None:
        """Note whether new documents go on in order of their ids; where others were not, those are forgotten first."""
        if not self._number_of:
            self._last, self.in_order = None, True
        if not self.in_order:
            return
        rising = _are_rising(ids) and bool((np.diff(numbers) > 0).all())
        self.in_order = rising and (self._last is None or self._last < ids[0])
        self._last = ids[-1]

    def forget(self, ids: Iterable[DocId]) -> None:
        """Drop ids; an int that was used is not given out again."""
        for id in ids:
            self._id_of[self._number_of.pop(id)] = None

    def of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The ids of document numbers, in the same shape; -1 stays -1."""
        if self._are_numbers:
            return numbers.copy()
        found = self.listed(numbers.ravel())
        if self.kind is not str:
            return np.array(found, np.int64).reshape(numbers.shape)
        out = np.empty(numbers.shape, object)
        out.ravel()[:] = found
        return out

    def listed(self, numbers: npt.NDArray[np.int64]) -> list[DocId]:
        """The ids of document numbers; -1 stays -1."""
        id_of: list[Any] = self._id_of
        return [id_of[number] if number >= 0 else -1 for number in numbers.tolist()]

    def renumbered(self, order: npt.NDArray[np.int64]) -> IdMap:
        """The same ids for documents that were numbered anew: `order[i]` is the old number of the new i."""
        fresh = IdMap()
        ids = [id for number in order.tolist() if (id := self._id_of[number]) is not None]
        fresh.assign(ids, np.arange(len(ids)))
        fresh._next = self._next
        return fresh

    def to_arrays(self) -> Arrays:
        """The ids and their document numbers as arrays; strings as UTF-8 end to end, with where each ends."""
        ids, numbers = list(self._number_of), list(self._number_of.values())
        arrays: Arrays = {"id_numbers": np.array(numbers, np.int64), "id_next": np.array([self._next], np.int64)}
        if self.kind is str:
            encoded = [str(id).encode() for id in ids]
            arrays["id_text"] = np.frombuffer(b"".join(encoded), np.uint8)
            arrays["id_ends"] = np.cumsum([len(id) for id in encoded]).astype(np.int64)
        else:
            arrays["id_values"] = np.array(ids, np.int64)
        return arrays

    @classmethod
    def from_bundle(cls, bundle: Bundle, documents: npt.NDArray[np.int64]) -> IdMap:
        """The map whose arrays are in `bundle`; `documents`, in ascending order, are those that have an id."""
        found = cls()
        numbers = bundle.array("id_numbers", np.int64, None)
        if not np.array_equal(np.sort(numbers), documents):
            raise CorruptError(f"the saved ids are not those of the {len(documents)} saved documents: {CURE}")
        ids = _saved_ids(bundle, len(numbers))
        if len(set(ids)) < len(ids):
            raise CorruptError(f"two saved documents have the same id: {CURE}")
        found._id_of = [None] * (int(numbers.max(initial=-1)) + 1)
        found.assign(ids, numbers)
        following = int(bundle.numbers("id_next", np.int64, 1, least=0, most=_MOST)[0])
        if following < found._next:
            raise CorruptError(f"the next saved id is {following}, which is in use: {CURE}")
        found._next = following
        return found


def _are_rising(ids: Sequence[Any]) -> bool:
    if isinstance(ids[0], int):
        return bool((np.diff(np.asarray(ids)) > 0).all())  # in a tenth of the time
    return all(one < next for one, next in pairwise(ids))


def _saved_ids(bundle: Bundle, count: int) -> list[DocId]:
    """The ids as `to_arrays` wrote them, not yet compared with each other."""
    if "id_text" not in bundle.arrays:
        values: list[DocId] = bundle.numbers("id_values", np.int64, count, least=0, most=_MOST - 1).tolist()
        return values
    text = bundle.array("id_text", np.uint8, None)
    ends = bundle.numbers("id_ends", np.int64, count, least=1, most=len(text))
    if not (np.diff(ends) > 0).all() or ends.max(initial=0) < len(text):
        raise CorruptError(f"the saved ids do not end where the next ones begin: {CURE}")
    letters, bounds = text.tobytes(), [0, *ends.tolist()]
    try:
        return [letters[start:end].decode() for start, end in pairwise(bounds)]
    except UnicodeDecodeError as error:
        raise CorruptError(f"a saved id is no text ({error}): {CURE}") from error


def _as_id(id: Any) -> DocId:
    id = id.item() if isinstance(id, np.generic) else id
    if isinstance(id, str):
        if not id:
            raise InputError("an id is empty: give every document an id of at least one character")
        if any("\ud800" <= character <= "\udfff" for character in id):
            raise InputError(f"id {id!r} holds half a character (a lone surrogate) and cannot be stored: repair it")
        return id
    if isinstance(id, int) and not isinstance(id, bool):
        if not 0 <= id < _MOST:
            raise InputError(
                f"id {id} is out of range: whole numbers from 0 to 2**62 - 1 (-1 marks the end of results)"
            )
        return id
    raise DtypeError(f"ids are int or str, got {type(id).__name__}: {id!r}")


def as_several(ids: Any, what: str = "ids") -> list[Any]:
    """Ids that were passed as one argument; a text is no list of its characters."""
    if not isinstance(ids, Iterable) or isinstance(ids, str | bytes):
        raise DtypeError(f"{what} must be a list of ids, got {ids!r}: put it into a list")
    return list(ids)


def order_ties_by_id(ids: npt.NDArray[Any], scores: npt.NDArray[np.float64]) -> None:
    """Documents with equal scores stand in order of arrival; put them in order of their ids."""
    tied = scores[:, 1:] == scores[:, :-1]
    if not tied.any():
        return
    for row in np.flatnonzero(tied.any(axis=1)):
        order = np.lexsort((_sort_keys(ids[row]), -scores[row]))
        ids[row] = ids[row][order]


def _sort_keys(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return ids if ids.dtype != object else np.array([str(id) for id in ids])


def cut_ties(t: TreeArrays, ranked: Ranked, k: int) -> Longs:
    """The rows whose k-th document may score as some that were not ranked do.

    Where no more than k were ranked, only documents of its own leaf are known to score the same.
    """
    last, scores = ranked.documents[:, -1], ranked.scores
    cut = (last != NONE) & (scores[:, -1] == scores[:, k - 1])
    if scores.shape[1] == k:
        leaves = np.where(ranked.documents == NONE, NONE, t.leaf[ranked.documents])
        own = np.where(cut, leaves[:, -1], 0)  # past the end there is no leaf
        cut &= (leaves == own[:, None]).sum(axis=1) < t.size[own]
    found: Longs = np.flatnonzero(cut)
    return found
