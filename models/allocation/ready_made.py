"""Factorisations and topic models of the literature as allocation models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence


class ReadyMade:
    """Constructors of `AllocationModel`, which has this as its base (Cemgil et al. 2019, fig. 7).

    All take `a`, `b` as `AllocationModel` does.
    """

    @classmethod
    def nmf(cls, I: int, J: int, K: int, a: float = 1.0, b: float | None = None) -> Self:  # noqa: E741
        """KL-NMF of an I × J matrix of rank K: i ← k → j; as a topic model, word, topic, document.

        Indices "i", "k" (hidden) and "j".
        """
        return cls._of({"k": (), "i": ("k",), "j": ("k",)}, {"k": K, "i": I, "j": J}, "ij", a, b)

    @classmethod
    def cp(cls, shape: Sequence[int], R: int, a: float = 1.0, b: float | None = None) -> Self:
        """Canonical polyadic decomposition (PARAFAC) of rank R, or naive Bayes with a hidden class.

        Indices "i1", "i2", … with parent "r" (hidden).
        """
        names = [f"i{n}" for n in range(1, len(shape) + 1)]
        parents: dict[str, tuple[str, ...]] = {"r": (), **dict.fromkeys(names, ("r",))}
        return cls._of(parents, {"r": R, **dict(zip(names, shape, strict=True))}, names, a, b)

    @classmethod
    def complete(cls, shape: Sequence[int], a: float = 1.0, b: float | None = None) -> Self:
        """Nothing hidden and no independence: each of "i1", "i2", … depends on all before it."""
        names = [f"i{n}" for n in range(1, len(shape) + 1)]
        parents = {name: tuple(names[:n]) for n, name in enumerate(names)}
        return cls._of(parents, dict(zip(names, shape, strict=True)), names, a, b)

    @classmethod
    def symmetric_nmf(cls, I: int, K: int, a: float = 1.0, b: float | None = None) -> Self:  # noqa: E741
        """X ≈ W Wᵀ: NMF of an I × I matrix whose two factors are one table (appendix E).

        Indices "i", "j" with parent "k" (hidden).
        """
        parents: dict[str, tuple[str, ...]] = {"k": (), "i": ("k",), "j": ("k",)}
        return cls._of(parents, {"k": K, "i": I, "j": I}, "ij", a, b, tied=(("i", "j"),))

    @classmethod
    def _of(
        cls,
        parents: dict[str, tuple[str, ...]],
        cardinalities: dict[str, int],
        visible: Sequence[str],
        a: float,
        b: float | None,
        **settings: Any,
    ) -> Self:
        make: Any = cls
        made: Self = make(parents, cardinalities, tuple(visible), a, b, **settings)
        return made
