"""Fields of topics from the tokens of each, with their partition functions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from models.arrays import Floats
from models.parallel import effective_n_jobs, for_blocks
from models.poisson_mrf.condensation import damp_condensing_interactions
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.node_regressions import NodeRegressions, fit_nodes
from models.poisson_mrf.partition_table import partition_table


@dataclass(frozen=True)
class FieldSettings:
    """Settings of the fit of fields; see `LPMRFMixture`."""

    penalty: float
    length_scale: float
    smoothing: float
    partition: str
    n_samples: int
    n_temperatures: int | None = None


@dataclass(frozen=True, eq=False)
class FittedMRFs:
    """K fields."""

    regressions: tuple[NodeRegressions, ...]
    fields: tuple[FixedLengthPoissonMRF, ...]
    log_partition: Floats  # (K, M + 1), A_L + log L!, M at least 2


def fit_fields(
    parts: Sequence[sparse.csr_array],
    longest: int,
    settings: FieldSettings,
    *,
    before: Sequence[NodeRegressions] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> FittedMRFs:
    """A field for each of K matrices of counts `parts` (D, V), from its rows that hold a token.

    With an "smc" table, interactions are damped (`damp_condensing_interactions`) so that no field
    condenses on a few words; an "envelope" is that of the fields as fitted. A part without tokens
    gets equal words and no interactions. `longest` is M of the tables, at least 2; `before` are the
    regressions of each topic for a warm start.
    """
    n_topics, longest = len(parts), max(longest, 2)
    regressions, fields, mean_length = [], [], []
    for k, part in enumerate(parts):
        length = np.asarray(part.sum(axis=1)).ravel()
        is_kept = length > 0
        is_kept[:1] |= not is_kept.any()  # of nothing, a document without tokens is left
        found = fit_nodes(
            part[is_kept],
            settings.penalty,
            smoothing=settings.smoothing,
            start=None if before is None else before[k],
            n_jobs=n_jobs,
        )
        mean_length.append(max(float(length[is_kept].mean()), 1.0))
        regressions.append(found)
        fields.append(found.field(settings.length_scale * mean_length[k]))
    table = np.zeros((n_topics, longest + 1))
    n_threads = effective_n_jobs(n_jobs)

    def tabulate(start: int, stop: int) -> None:
        for k in range(start, stop):
            if settings.partition == "smc":
                fields[k] = damp_condensing_interactions(fields[k], longest)
            table[k] = partition_table(
                fields[k],
                longest,
                settings.partition,
                mean_length=mean_length[k],
                n_samples=settings.n_samples,
                n_temperatures=settings.n_temperatures,
                seed=int(np.random.SeedSequence([seed, k]).generate_state(1)[0]),
                n_jobs=n_threads if n_topics < n_threads else 1,
            )

    for_blocks(tabulate, n_topics, 1, n_threads if n_topics >= n_threads else 1)
    return FittedMRFs(tuple(regressions), tuple(fields), table)
