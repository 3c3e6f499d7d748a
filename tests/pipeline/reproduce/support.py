"""Help for tests of experiments."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pipeline.reproduce.aldebakel2022 import e_step_caps, topics_by_coherence, training
from pipeline.reproduce.buntine2009 import convergence, model_selection
from pipeline.reproduce.buntine2009.estimators import REFINED
from pipeline.reproduce.buntine2009.model_selection import Dataset
from pipeline.reproduce.capdevila2018 import convergence as l2r_convergence
from pipeline.reproduce.capdevila2018 import kl
from pipeline.reproduce.capdevila2018.runs import ESTIMATORS
from pipeline.reproduce.cemgil2019 import abalone, decompositions, histogram, letters, parafac, toy
from tests.pipeline.allocation.test_letter_pairs import pairs_lines
from tests.pipeline.support import call

FEW_RUNS = {"n_particles": 8, "n_repeats": 2, "n_starts": 2, "n_moves": 2}
FEW_RUNS |= {"n_modes": 4, "n_sweeps": 5}
SMALL: dict[Any, dict[str, Any]] = {
    e_step_caps: {"CAPS": (5, 80), "SWEEPS": (20, 50, 100)},
    topics_by_coherence: {"CANDIDATES": (2, 3)},
    training: {"MAX_PASSES": 5, "N_SAMPLES": 10},
    convergence: {"QUICK": {"sizes": (10, 20), "n_runs": 2}},
    model_selection: {
        "DATASETS": {"s10s": Dataset(3, 60, (2, 3))},
        "QUICK": {
            "training_sizes": (40, 80),
            "n_held_out": 20,
            "left_to_right_samples": 4,
            "mean_field_samples": 10,
            "n_starts": 1,
            "start_sweeps": 3,
            "n_sweeps": 5,
        },
    },
    kl: {
        "QUICK": {
            "n_topics": 2,
            "n_words": 10,
            "n_documents": 12,
            "max_tokens": 10,
            "sizes": dict.fromkeys(ESTIMATORS, (4, 8)),
            "n_repeats": 2,
            "n_sweeps": 6,
            "burn_in": 2,
        }
    },
    l2r_convergence: {
        "QUICK": {
            "n_topics": 2,
            "n_documents": 8,
            "sizes": {"DS": (4, 20), "HM": (4,), "L2R": (4,), REFINED: (4, 8)},
            "n_sweeps": 6,
            "burn_in": 2,
        }
    },
    toy: {
        "QUICK": {"a": (1.0,), "ranks": (1, 2), "n_particles": 30, "n_repeats": 4, "n_starts": 2}
    },
    histogram: {"RANK": 2},
    parafac: {
        "QUICK": {
            "shape": (3, 4, 5),
            "true_rank": 2,
            "n_tokens": 12,
            "ranks": (1, 2, 3),
            "n_tensors": 2,
            "n_particles": 20,
            "n_repeats": 3,
            "n_starts": 2,
            "n_moves": 3,
            "n_sweeps": 5,
        },
        "QUICK_COSTS": {"sizes": (4, 8), "n_tokens": 10, "n_tensors": 1, "n_particles": 20},
    },
    abalone: {"QUICK": {"n_bins": 2, "strengths": (1.0, 0.1), "ranks": (1, 3), **FEW_RUNS}},
    letters: {"QUICK": {"n_tokens": 40, "ranks": (1, 2), **FEW_RUNS}},
    decompositions: {"QUICK": {"n_tokens": 40, "rank": 2, "strengths": (0.1, 1.0), **FEW_RUNS}},
}
"""Names in modules in place of which tests have smaller values."""


def few_counts(seed=0):
    """Return counts of 60 documents of two topics over 20 words."""
    rng = np.random.default_rng(seed)
    topic_word = rng.dirichlet(np.full(20, 0.3), 2)
    return sparse.csr_array(rng.poisson(rng.gamma(1.0, 4.0, (60, 2)) @ topic_word))


def abalone_lines(n=60, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        age = int(rng.integers(1, 25))
        size = np.round(0.03 * age + 0.05 * rng.random(7), 4)
        lines.append(",".join([str(rng.choice(["M", "F", "I"])), *map(str, size), str(age)]))
    return lines


def write_tables(directory):
    """Write abalone.csv and pairs.csv."""
    header = ",".join(abalone.COLUMNS)
    (directory / "abalone.csv").write_text("\n".join([header, *abalone_lines()]) + "\n")
    (directory / "pairs.csv").write_text("\n".join(pairs_lines()) + "\n")


def reproduced(*argv, cwd, threads=1):
    """Return the result of a command that ends well."""
    outcome = call("reproduce", *argv, "--threads", threads, "--json", cwd=cwd)
    assert outcome.code == 0, outcome.err
    return outcome.result


def without_seconds(value):
    """Return a result without its times and date."""
    if isinstance(value, dict):
        kept = [name for name in value if not name.endswith(("seconds", "date"))]
        return {name: without_seconds(value[name]) for name in kept}
    return [without_seconds(each) for each in value] if isinstance(value, list) else value


def places(experiment, given):
    """Return the places where each claim fails, by its sentence, given the result."""
    return {each.text: list(each.fails_at) for each in experiment.findings(given)}


def failing(experiment, given):
    """Return the places of claims that fail somewhere."""
    return {claim: at for claim, at in places(experiment, given).items() if at}


def shifted(row, by):
    """Return a row on an allocation model with all its scores raised."""
    return row | {
        name: row[name] + by for name in ("log_marginal", "lowest_repeat", "highest_repeat")
    }
