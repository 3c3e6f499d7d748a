"""Fixed-length Poisson MRFs as a family of topic models: mixtures and topic models of them."""

from dataclasses import replace
from importlib import import_module

from models.family import Family, TrainerSpec, ValidationInterval
from models.poisson_mrf.field_state import PoissonMRFState
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics

QUICK = {"penalty": 0.1, "n_samples": 3, "n_temperatures": 3, "n_iter": 2}
GIBBS = TrainerSpec(
    name="poisson-mrf-gibbs",
    title="Topics that are fixed-length Poisson MRFs, Gibbs sampling",
    model="poisson-mrf",
    import_estimator=lambda: import_module("models.poisson_mrf.topic_model").LPMRFTopicModel,
    state=PoissonMRFState,
    settings=("assignments", "penalty", "length_scale"),
    # A round takes longer than a validation: each is validated.
    interval=ValidationInterval(documents=1, passes=1, growth=1.0),
    chosen_by={"assignments": "gibbs"},
    needs_document_per_topic=True,
    empties_topics=True,
    quick={**QUICK, "n_sweeps": 2, "lda_sweeps": 3},
)
MOVES = replace(
    GIBBS,
    name="poisson-mrf-moves",
    title="Topics that are fixed-length Poisson MRFs, moves as published",
    chosen_by={"assignments": "moves"},
    quick=QUICK,
)
MIXTURE = replace(
    GIBBS,
    name="poisson-mrf-mixture",
    title="Mixture of fixed-length Poisson MRFs",
    import_estimator=lambda: import_module("models.poisson_mrf.mixture").LPMRFMixture,
    settings=("penalty", "length_scale"),
    chosen_by={"assignments": "mixture"},
    quick=QUICK,
    ways=({"partition": "envelope"},),
)
FAMILY = Family(
    name="poisson-mrf",
    topics={"poisson-mrf-mixture": LPMRFClusters, "poisson-mrf": LPMRFTopics},
    trainers=(GIBBS, MOVES, MIXTURE),
)
