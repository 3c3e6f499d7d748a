"""Selection of λ and c of Poisson MRFs, by the likelihood of validation documents.

λ is the penalty of the regressions, c the length scale of ω. As published (Inouye et al. 2015,
Sec. 4) all pairs of some λ and some c are tried, and a pair's score is the perplexity of counts of
words with tokens shared out at their best: max over clusters, or over topic matrices, without the
probability of sharing them out so.

The regressions do not depend on c: they are made once a λ, from the largest down, each beginning
with the last. What depends on c, too, is the partition function, which is estimated for each pair.

Of a mixture or a topic model the training documents' shares are given and stay as they are, such as
those at which a model without interactions arrives. Training goes on from there, so that λ and c
are chosen for its first round.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.arrays import Floats, Ints
from evaluation.document_blocks import DocumentBlock
from evaluation.poisson_mrf.map_assignment import map_assignment
from models.checks import check_whole
from models.counts import checked_counts
from models.poisson_mrf.field_fitting import FieldSettings
from models.poisson_mrf.mixture import LPMRFMixture
from models.poisson_mrf.node_regressions import NodeRegressions, fit_path
from models.poisson_mrf.partition_table import partition_table
from models.poisson_mrf.topic_model import LPMRFTopicModel, parts_of_split
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics

PENALTIES = tuple(np.logspace(0.0, -3.0, 20).tolist())
LENGTH_SCALES = tuple(np.linspace(1.0, 2.0, 5).tolist())
EFFORT = FieldSettings(math.nan, math.nan, 1e-4, "envelope", n_samples=100)
"""Settings of the fit of fields, for any λ and c. All three are those of the paper."""


@dataclass(frozen=True, eq=False)
class FieldSelection:
    """The perplexity of validation documents for each of N penalties and M length scales."""

    penalties: tuple[float, ...]  # (N,), descending
    length_scales: tuple[float, ...]  # (M,)
    perplexity: Floats  # (N, M), of counts of words; NaN where nothing was tried
    n_interactions: Ints
    """(N,), pairs of words that depend on each other, in all topics; -1 where nothing was tried."""

    @property
    def _best(self) -> tuple[int, int]:
        flat = int(np.nanargmin(self.perplexity))
        return flat // len(self.length_scales), flat % len(self.length_scales)

    @property
    def penalty(self) -> float:
        """The best λ; of equal ones the largest."""
        return self.penalties[self._best[0]]

    @property
    def length_scale(self) -> float:
        """The best c; of equal ones the first."""
        return self.length_scales[self._best[1]]

    @property
    def best_perplexity(self) -> float:
        """Perplexity of the best pair."""
        return float(self.perplexity[self._best])

    @property
    def is_at_edge(self) -> bool:
        """Whether the best λ is the first or last that was tried: a better one may be beyond."""
        tried = np.flatnonzero(self.n_interactions >= 0)
        return self._best[0] in (tried[0], tried[-1])


def select_fields(
    train: Any,
    validation: Any,
    penalties: Sequence[float] = PENALTIES,
    length_scales: Sequence[float] = LENGTH_SCALES,
    *,
    shares: NDArray[Any] | None = None,
    effort: FieldSettings = EFFORT,
    patience: int | None = None,
    known: Floats | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    on_pair: Callable[[int, int, float], object] | None = None,
) -> FieldSelection:
    """Return validation perplexities of fields for all pairs of λ and c; no model is refitted.

    Parameters
    ----------
    train, validation : sparse or dense (D, V), (D', V)
    penalties, length_scales : sequences of float
        λ and c; by default the paper's.
    shares : integers (D,) or (nnz, K), optional
        Of each training document that has a token its cluster, so that the model is a mixture; or
        of each entry of `train`, in CSR order, how its tokens are shared out, so that it is a topic
        model. See `multinomial_shares`. By default there is one field.
    patience : int, optional
        Number of consecutive λ without a new best perplexity at any c after which smaller λ are
        not tried. None: all are.
    known : array (N, M), optional
        Perplexities that an earlier call with the same arguments arrived at, else NaN: they are
        taken as they are.
    on_pair : callable, optional
        Called with the numbers of λ, from the largest, and of c, and the perplexity of each pair.

    Raises ValueError if counts are of different words, no counts, or without a token; if there is
    no λ or c, or one is out of its range; or if `shares` do not share out `train`. Equal seeds give
    equal bits, whatever `n_jobs` and `known`.
    """
    documents, held_out = _documents(train, "train"), _documents(validation, "validation")
    if documents.shape[1] != held_out.shape[1]:
        raise ValueError(
            f"train and validation must be of the same words, found {documents.shape[1]} and "
            f"{held_out.shape[1]}"
        )
    ordered = _checked_grid("penalties", sorted(penalties, reverse=True))
    scales = _checked_grid("length_scales", length_scales)
    if patience is not None:
        check_whole("patience", patience, 1)
    perplexity = np.full((len(ordered), len(scales)), np.nan)
    known = perplexity if known is None else known
    if known.shape != perplexity.shape:
        raise ValueError(f"known must be {perplexity.shape}, found {known.shape}")
    parts, kind = _parts_of(documents, shares)
    n_interactions = np.full(len(ordered), -1, dtype=np.int64)
    longest = int(held_out.sum(axis=1).max())
    mean_lengths = [float(part.sum() / part.shape[0]) for part in parts]

    def perplexity_of(regressions: Sequence[NodeRegressions], c: float) -> float:
        fields, tables = [], []
        for k, (found, mean_length) in enumerate(zip(regressions, mean_lengths, strict=True)):
            fields.append(found.field(c * mean_length))
            tables.append(
                partition_table(
                    fields[k],
                    longest,
                    effort.partition,
                    mean_length=mean_length,
                    n_samples=effort.n_samples,
                    n_temperatures=effort.n_temperatures,
                    seed=int(np.random.SeedSequence([seed, k]).generate_state(1)[0]),
                    n_jobs=n_jobs,
                )
            )
        model = kind.of_fields(fields, np.stack(tables), np.ones(len(fields)))
        return map_assignment(model, DocumentBlock(held_out), n_jobs=n_jobs).perplexity

    paths = [fit_path(part, ordered, smoothing=effort.smoothing, n_jobs=n_jobs) for part in parts]
    best, n_worse = np.inf, 0
    for i, regressions in enumerate(zip(*paths, strict=True)):
        n_interactions[i] = sum(each.field().n_interactions for each in regressions)
        for j, scale in enumerate(scales):
            is_known = not math.isnan(known[i, j])
            perplexity[i, j] = known[i, j] if is_known else perplexity_of(regressions, scale)
            if on_pair is not None:
                on_pair(i, j, float(perplexity[i, j]))
        lowest = float(perplexity[i].min())
        n_worse = n_worse + 1 if lowest > best else 0
        best = min(best, lowest)
        if n_worse == patience:
            break
    return FieldSelection(ordered, scales, perplexity, n_interactions)


def multinomial_shares(
    counts: Any, n_topics: int, assignments: str, *, seed: int = 0, n_jobs: int | None = None
) -> NDArray[Any]:
    """Return the shares of `counts` (D, V) in a fitted mixture or topic model of multinomials.

    With `assignments` "mixture" these are the clusters (D,) of documents that have a token, with
    "moves" the numbers (nnz, K) of the tokens of entries in each topic. Raises ValueError for
    others, or if the model cannot be fitted.
    """
    if assignments not in ("mixture", "moves"):
        raise ValueError(f'assignments must be "mixture" or "moves", found {assignments!r}')
    settings: dict[str, Any] = {"penalty": math.inf, "random_state": seed, "n_jobs": n_jobs}
    model: LPMRFMixture | LPMRFTopicModel = (
        LPMRFMixture(n_topics, **settings)
        if assignments == "mixture"
        else LPMRFTopicModel(n_topics, assignments="moves", n_iter=100, **settings)
    )
    shares: NDArray[Any] = model.fit(_documents(counts, "counts")).state_.assignment
    return shares


def _documents(counts: Any, name: str) -> sparse.csr_array:
    """Counts (D, V) of documents with a token as int64 CSR, sorted, without zeros; a copy."""
    documents = checked_counts(counts, name=name)
    if not documents.nnz:
        raise ValueError(f"{name} must hold a token at least")
    return sparse.csr_array(documents[np.diff(documents.indptr) > 0])


def _checked_grid(name: str, values: Sequence[float]) -> tuple[float, ...]:
    found = tuple(float(value) for value in values)
    if not found or not all(value > 0 for value in found):
        raise ValueError(f"{name} must be positive numbers, one at least, found {found}")
    if len(set(found)) < len(found):
        raise ValueError(f"{name} must differ, found {found}")
    return found


def _parts_of(
    documents: sparse.csr_array, shares: NDArray[Any] | None
) -> tuple[list[sparse.csr_array], type[LPMRFClusters] | type[LPMRFTopics]]:
    """The tokens of each topic, and which model they are of."""
    if shares is None:
        shares = np.zeros(documents.shape[0], dtype=np.int64)
    if shares.dtype.kind not in "iu" or (shares < 0).any():
        raise ValueError("shares must be whole numbers, none negative")
    kind: type[LPMRFClusters] | type[LPMRFTopics]
    if shares.shape == documents.shape[:1]:
        kind = LPMRFClusters
        parts = [sparse.csr_array(documents[shares == k]) for k in range(int(shares.max()) + 1)]
    elif shares.ndim == 2 and np.array_equal(shares.sum(axis=1), documents.data):
        kind = LPMRFTopics
        parts = parts_of_split(documents, shares)
    else:
        raise ValueError(
            f"shares must be a cluster of each of the {documents.shape[0]} documents with a token, "
            f"or be of the {documents.nnz} entries of train, by topics, and sum to them; found "
            f"shape {shares.shape}"
        )
    for k, part in enumerate(parts):
        if not part.nnz:
            raise ValueError(f"shares give no token to topic {k}: give each topic some")
    return [part[np.asarray(part.sum(axis=1)).ravel() > 0] for part in parts], kind
