"""Buntine 2009, Table 1: estimates of short documents' likelihoods beside the exact values.

For each gamma: pairs of a model, whose topics are ~ Dirichlet(gamma) over J words, and a document
of L tokens drawn from it, a fresh pair each time. The error of an estimate is in bits a word:

    (estimate - exact) of -log2 p(document) / L
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluation.document_blocks import DocumentBlock
from evaluation.lda.exact import exact
from evaluation.lda.simulate import simulated_documents
from pipeline.reproduce.buntine2009.estimators import ESTIMATORS
from pipeline.reproduce.buntine2009.simulated import draw_topics

if TYPE_CHECKING:
    from collections.abc import Callable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table1Settings:
    """What is drawn; the defaults are the paper's.

    Raises
    ------
    ValueError
        If there are fewer than two pairs, which have no standard deviation, or fewer than two
        samples.
    """

    n_pairs: int = 100
    gammas: tuple[float, ...] = (0.2, 0.5, 1.0, 3.0)
    n_topics: int = 4
    n_words: int = 1000
    length: int = 14
    alpha: float = 0.1
    n_samples: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n_pairs", "n_samples"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} must be at least 2, found {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Table1:
    """Errors of all estimators on all pairs, in bits a word; G gammas, M estimators, P pairs."""

    settings: Table1Settings
    estimators: tuple[str, ...]
    """(M,), in the order of `ESTIMATORS`."""
    error: Floats
    """(G, M, P), estimate minus exact of -log2 p a word."""
    standard_error: Floats
    """(G, M, P), what the estimator says of its own error."""

    @property
    def mean(self) -> Floats:
        """(G, M), 0 for an estimator that is right on average."""
        result: Floats = self.error.mean(axis=2)
        return result

    @property
    def standard_deviation(self) -> Floats:
        """(G, M) over pairs."""
        result: Floats = self.error.std(axis=2, ddof=1)
        return result

    @property
    def student_t(self) -> Floats:
        """(G, M), the mean in its standard errors, of P - 1 degrees of freedom."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t: Floats = self.mean / (self.standard_deviation / np.sqrt(self.settings.n_pairs))
        return t

    @property
    def ratio(self) -> Floats:
        """(G, M), mean of the estimated p(document) over the exact one.

        An estimator that is unbiased has 1 here, and a `mean` a little above 0: by half the
        variance of its log p, as the logarithm of a mean is above the mean of logarithms.
        """
        result: Floats = self._relative.mean(axis=2)
        return result

    @property
    def ratio_standard_error(self) -> Floats:
        """(G, M) over pairs."""
        result: Floats = self._relative.std(axis=2, ddof=1) / np.sqrt(self.settings.n_pairs)
        return result

    @property
    def _relative(self) -> Floats:
        result: Floats = np.exp2(-self.error * self.settings.length)
        return result

    @property
    def coverage(self) -> Floats:
        """(G, M), share of pairs whose exact value is within two reported standard errors.

        About 0.95 if the estimator knows its own error and is not biased.
        """
        is_covered = np.abs(self.error) <= 2 * self.standard_error
        result: Floats = is_covered.mean(axis=2)
        return result


def table_1(settings: Table1Settings, on_pair: Callable[[], object] | None = None) -> Table1:
    """Draw the pairs and estimate; `on_pair` is called after each, G · P times."""
    shape = (len(settings.gammas), len(ESTIMATORS), settings.n_pairs)
    error, standard_error = np.empty(shape), np.empty(shape)
    bits = settings.length * np.log(2.0)  # nats a document in a bit a word
    for g, gamma in enumerate(settings.gammas):
        word_prior = np.full(settings.n_words, gamma)
        for pair in range(settings.n_pairs):
            rng = np.random.default_rng([settings.seed, g, pair])
            topics = draw_topics(settings.n_topics, word_prior, settings.alpha, rng)
            document, _ = simulated_documents(topics, [settings.length], rng)
            truth = exact(topics, DocumentBlock(document)).log_likelihood[0]
            for m, estimator in enumerate(ESTIMATORS.values()):
                seed = int(rng.integers(2**32))
                found = estimator(
                    topics, DocumentBlock(document), n_samples=settings.n_samples, seed=seed
                )
                error[g, m, pair] = (truth - found.log_likelihood[0]) / bits
                standard_error[g, m, pair] = found.standard_error[0] / bits
            if on_pair is not None:
                on_pair()
    return Table1(settings, tuple(ESTIMATORS), error, standard_error)


PUBLISHED: dict[float, dict[str, tuple[float, float, float]]] = {
    0.2: {
        "HM": (-0.3357, 0.2345, -14.3),
        "MFI 1st": (0.0018, 0.0114, 1.58),
        "MFI 2nd": (0.0016, 0.0204, 0.815),
        "LR": (0.0032, 0.0256, 1.26),
        "LRS": (0.00072, 0.0156, 0.46),
    },
    0.5: {
        "HM": (-0.210, 0.120, -17.5),
        "MFI 1st": (0.00131, 0.0347, 0.377),
        "MFI 2nd": (0.00624, 0.0244, 2.55),
        "LR": (0.0128, 0.0429, 2.98),
        "LRS": (-0.00002, 0.0233, -0.0079),
    },
    1.0: {
        "HM": (-0.109, 0.0878, -12.4),
        "MFI 1st": (0.0181, 0.0668, 2.70),
        "MFI 2nd": (0.0261, 0.0380, 6.87),
        "LR": (0.00796, 0.0502, 1.58),
        "LRS": (0.00457, 0.0317, 1.44),
    },
    3.0: {
        "HM": (-0.0440, 0.0819, -5.37),
        "MFI 1st": (0.0694, 0.0797, 8.71),
        "MFI 2nd": (0.0553, 0.0646, 8.55),
        "LR": (0.00926, 0.0417, 2.22),
        "LRS": (0.00510, 0.0259, 1.97),
    },
}
"""Mean, standard deviation and Student's t of Table 1, by gamma and estimator, of 100 pairs.

The mean of LR at gamma = 1 is printed as .000796; ten times that is what its deviation and t say.
"""
