"""Factorisations and topic models of the literature as allocation models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from models.checks import check_whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from models.arrays import Floats


class StandardGraphs:
    """Constructors of `AllocationModel`, which has this as its base (Cemgil et al. 2019, fig. 7).

    All take `a`, `b` as `AllocationModel` does; all but `lda` have its flat, consistent prior. All
    raise ValueError where a size is below 1 or a shape has no axis, and TypeError where a size is
    not a whole number, naming the argument.
    """

    if TYPE_CHECKING:

        def __init__(self, *model: Any, **settings: Any) -> None: ...

    @classmethod
    def nmf(cls, I: int, J: int, K: int, a: float = 1.0, b: float | None = None) -> Self:  # noqa: E741
        """KL-NMF of an I × J matrix, rank K: i ← k → j, "k" hidden (fig. 7a): word, topic, text."""
        _check_sizes(I=I, J=J, K=K)
        return cls({"k": (), "i": ("k",), "j": ("k",)}, {"k": K, "i": I, "j": J}, "ij", a, b)

    @classmethod
    def lda(
        cls,
        n_docs: int,
        n_words: int,
        n_topics: int,
        alpha: ArrayLike,
        eta: ArrayLike,
        a: float | None = None,
        b: float | None = None,
    ) -> Self:
        """LDA with Dirichlet priors of its own: "doc" → "topic" (hidden) → "word"; X (n_docs,
        n_words).

        The graph is that of `nmf` (fig. 7a), the prior is not: topic proportions of each document ~
        Dirichlet(alpha), words of each topic ~ Dirichlet(eta); each is a number or an array,
        positive.

        LDA has no model of documents' lengths. Here λ times each document's share of the tokens is
        Gamma(a / n_docs, b), independently; by default a = n_docs · Σ alpha, with which the tables
        of documents and of their topics agree (Σ alpha pseudo-tokens for each document). Given the
        lengths, the probability of X is that of LDA whatever `a` and `b` are.
        """
        _check_sizes(n_docs=n_docs, n_words=n_words, n_topics=n_topics)
        of_topic = _dirichlet("alpha", alpha, "n_topics", n_topics)
        of_word = _dirichlet("eta", eta, "n_words", n_words)
        total: Any = n_docs * float(of_topic.sum()) if a is None else a
        # where it is no number, or not positive, the model says so
        of_doc = total / n_docs if isinstance(total, (int, float, np.number)) else 1.0
        return cls(
            {"doc": (), "topic": ("doc",), "word": ("topic",)},
            {"doc": n_docs, "topic": n_topics, "word": n_words},
            ("doc", "word"),
            total,
            b,
            prior={
                "doc": np.full(n_docs, of_doc),
                "topic": np.broadcast_to(of_topic, (n_docs, n_topics)),
                "word": np.broadcast_to(of_word, (n_topics, n_words)),
            },
        )

    @classmethod
    def cp(cls, shape: Sequence[int], R: int, a: float = 1.0, b: float | None = None) -> Self:
        """Canonical polyadic decomposition (PARAFAC) of rank R, or naive Bayes with a hidden class:
        "i1", "i2", … with parent "r", hidden (section 3.7.4, fig. 7e).
        """
        _check_sizes(R=R)
        sizes = _named("shape", shape, "i")
        parents: dict[str, tuple[str, ...]] = {"r": (), **dict.fromkeys(sizes, ("r",))}
        return cls(parents, {"r": R, **sizes}, sizes, a, b)

    @classmethod
    def tucker(
        cls, shape: Sequence[int], ranks: Sequence[int], a: float = 1.0, b: float | None = None
    ) -> Self:
        """Non-negative Tucker decomposition with a core of shape `ranks` (section 3.7.4).

        Hidden "k1", "k2", … each depend on all before, so that the core is any tensor; "i1", "i2",
        … each depend on the k of their number. Raises ValueError if the lengths of `shape` and
        `ranks` differ.
        """
        visible, hidden = _named("shape", shape, "i"), _named("ranks", ranks, "k")
        if len(visible) != len(hidden):
            raise ValueError(
                f"ranks must have one number for each of the {len(visible)} axes of shape, "
                f"found {len(hidden)}"
            )
        parents = _complete(hidden)
        parents |= {i: (k,) for i, k in zip(visible, hidden, strict=True)}
        return cls(parents, hidden | visible, visible, a, b)

    @classmethod
    def complete(cls, shape: Sequence[int], a: float = 1.0, b: float | None = None) -> Self:
        """Nothing hidden and no independence: each of "i1", "i2", … depends on all before it."""
        sizes = _named("shape", shape, "i")
        return cls(_complete(sizes), sizes, sizes, a, b)

    @classmethod
    def symmetric_nmf(cls, I: int, K: int, a: float = 1.0, b: float | None = None) -> Self:  # noqa: E741
        """X ≈ W Wᵀ: NMF of an I × I matrix, both factors one table: i ← k → j (appendix E)."""
        _check_sizes(I=I, K=K)
        parents: dict[str, tuple[str, ...]] = {"k": (), "i": ("k",), "j": ("k",)}
        return cls(parents, {"k": K, "i": I, "j": I}, "ij", a, b, tied=(("i", "j"),))

    @classmethod
    def pachinko(
        cls, n_words: int, n_docs: int, sizes: Sequence[int], a: float = 1.0, b: float | None = None
    ) -> Self:
        """Pachinko allocation, topics in a hierarchy: doc → k1 → … → kL → word (section 3.7.1).

        `sizes` are the numbers of (hidden) topics of the levels, the broadest first. X is (n_docs,
        n_words); the paper's, with i the word and j the document, is its transpose.
        """
        _check_sizes(n_words=n_words, n_docs=n_docs)
        hidden = _named("sizes", sizes, "k")
        chain = ("doc", *hidden, "word")
        parents: dict[str, tuple[str, ...]] = {"doc": ()}
        parents |= {below: (above,) for above, below in pairwise(chain)}
        cardinalities = {"doc": n_docs, **hidden, "word": n_words}
        return cls(parents, cardinalities, ("doc", "word"), a, b)

    @classmethod
    def mixed_membership(
        cls,
        n_entities: int,
        n_blocks: int,
        n_categories: int = 2,
        a: float = 1.0,
        b: float | None = None,
    ) -> Self:
        """Mixed membership stochastic blockmodel: i1 → k1 → s ← k2 ← i2 (section 3.7.2).

        An edge goes from "i1" to "i2", entities of the hidden blocks "k1" and "k2"; "s" is its
        category: with two, whether there is one. X is (n_entities, n_entities, n_categories).
        """
        _check_sizes(n_entities=n_entities, n_blocks=n_blocks, n_categories=n_categories)
        return cls(
            {"i1": (), "i2": (), "k1": ("i1",), "k2": ("i2",), "s": ("k1", "k2")},
            {"i1": n_entities, "i2": n_entities, "k1": n_blocks, "k2": n_blocks, "s": n_categories},
            ("i1", "i2", "s"),
            a,
            b,
        )

    @classmethod
    def hidden_markov(
        cls,
        n_steps: int,
        n_states: int,
        n_symbols: int,
        a: float = 1.0,
        b: float | None = None,
        tied: bool = False,
    ) -> Self:
        """Hidden Markov model of sequences of T steps: h1 → … → hT, each hn → xn (section 3.7.4).

        A token is a sequence "x1", …; X has T axes of n_symbols. With `tied`, all steps share one
        table of transitions and one of emissions; the states are then summed over together,
        n_states to the power of T combinations. Raises TypeError if `tied` is not True or False.
        """
        _check_sizes(n_steps=n_steps, n_states=n_states, n_symbols=n_symbols)
        if not isinstance(tied, (bool, np.bool_)):
            raise TypeError(f"tied must be True or False, found {tied!r}")
        hidden, visible = ([f"{name}{n}" for n in range(1, n_steps + 1)] for name in "hx")
        parents: dict[str, tuple[str, ...]] = {hidden[0]: ()}
        parents |= {after: (before,) for before, after in pairwise(hidden)}
        parents |= {x: (h,) for h, x in zip(hidden, visible, strict=True)}
        sizes = {**dict.fromkeys(hidden, n_states), **dict.fromkeys(visible, n_symbols)}
        # a table of its own is not tied
        groups = [group for group in (hidden[1:], visible) if tied and len(group) > 1]
        return cls(parents, sizes, visible, a, b, tied=groups)

    @classmethod
    def sum_conditioned(
        cls,
        I: int,  # noqa: E741
        J: int,
        K: int,
        R: int,
        a: float = 1.0,
        b: float | None = None,
    ) -> Self:
        """Sum conditioned Poisson factorisation: p(j) p(k|j) p(r|k,j) p(i|k,r) (section 3.7.3).

        For an I × J matrix of R categories with K topics, "k", hidden; X is (I, R, J), visible "i",
        "r", "j". A missing entry is a cell (i, -1, j) with as many tokens as an entry has.
        """
        _check_sizes(I=I, J=J, K=K, R=R)
        return cls(
            {"j": (), "k": ("j",), "r": ("k", "j"), "i": ("k", "r")},
            {"j": J, "k": K, "r": R, "i": I},
            "irj",
            a,
            b,
        )


def _complete(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Parents in the graph where each depends on all before it."""
    order = tuple(names)
    return {name: order[:n] for n, name in enumerate(order)}


def _check_sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        check_whole(name, size, 1)


def _named(name: str, sizes: Any, prefix: str) -> dict[str, int]:
    """The sizes of indices that are called by a letter and a number, from 1."""
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
        raise TypeError(f"{name} must be a sequence of whole numbers, found {sizes!r}")
    given = tuple(sizes)
    if not given:
        raise ValueError(f"{name} must have at least one number, found none")
    for n, size in enumerate(given):
        _check_sizes(**{f"{name}[{n}]": size})
    return {f"{prefix}{n}": int(size) for n, size in enumerate(given, start=1)}


def _dirichlet(name: str, value: Any, size_name: str, size: int) -> Floats:
    """Parameters (size,), from one for all or one for each."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of them, found {value!r}") from None
    if array.shape not in {(), (size,)}:
        raise ValueError(
            f"{name} must be a number or an array of shape ({size_name},) = ({size},), "
            f"found shape {array.shape}"
        )
    if not np.isfinite(array).all() or (array <= 0).any():
        raise ValueError(f"{name} must be positive and finite, found {value!r}")
    return np.broadcast_to(array, (size,))
