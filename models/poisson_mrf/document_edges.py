"""The words of one document that depend on each other, in each topic."""

from typing import NamedTuple

import numpy as np

from models.arrays import Floats, Ints, Ints32
from models.kernel import kernel
from models.poisson_mrf.edges import Neighbours


class DocumentEdges(NamedTuple):
    """Φ of all topics among the U different words of a document; row k U + u is of word u."""

    start: Ints  # (K U + 1,), first entry of each row
    place: Ints32  # Number, 0..U - 1, of the document's word that the row's word depends on
    weight: Floats  # Φ^k of the two words


@kernel
def edges_within(
    words: Ints32, n_topics: int, neighbours: Neighbours, place_of: Ints32
) -> DocumentEdges:
    """Return the edges among distinct `words` (U,); `place_of` (V,) holds -1, before and after."""
    n_unique, n_words = len(words), len(place_of)
    for u in range(n_unique):
        place_of[words[u]] = u
    start = np.zeros(n_topics * n_unique + 1, dtype=np.int64)
    for k in range(n_topics):
        for u in range(n_unique):
            row, n = k * n_words + words[u], 0
            for entry in range(neighbours.start[row], neighbours.start[row + 1]):
                n += place_of[neighbours.word[entry]] >= 0
            start[k * n_unique + u + 1] = start[k * n_unique + u] + n
    place = np.empty(start[-1], dtype=np.int32)
    weight = np.empty(start[-1])
    end = 0
    for k in range(n_topics):
        for u in range(n_unique):
            row = k * n_words + words[u]
            for entry in range(neighbours.start[row], neighbours.start[row + 1]):
                other = place_of[neighbours.word[entry]]
                if other >= 0:
                    place[end], weight[end] = other, neighbours.weight[entry]
                    end += 1
    for u in range(n_unique):
        place_of[words[u]] = -1
    return DocumentEdges(start, place, weight)
