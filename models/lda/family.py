"""Latent Dirichlet allocation as a family of topic models."""

from importlib import import_module

from models.family import Family, TrainerSpec, ValidationInterval
from models.gibbs.state import SAMPLERS, GibbsLDAState
from models.lda.gibbs_chains_state import GibbsChainsState
from models.lda.online_lda_state import OnlineLDAState
from models.lda.topics import LDATopics

# Validations took 10 % of the time of learning online with 25 topics, and 4, 5 and 14 % of that of
# Gibbs sampling with 25, 100 and 1,000 (25,000 articles; less in long runs, as they become rarer).
ONLINE = TrainerSpec(
    name="online",
    title="Latent Dirichlet allocation, online variational Bayes",
    model="online",
    import_estimator=lambda: import_module("models.lda.online_lda").OnlineLDA,
    state=OnlineLDAState,
    settings=(
        *("alpha", "eta", "batch_size", "max_e_iterations", "e_tolerance"),
        *("learning_decay", "learning_offset", "expectation", "word_budget", "staleness"),
    ),
    decides=("eta",),
    eta=0.5,
    passes="n_passes",
    interval=ValidationInterval(documents=25_000, passes=1),
    distributes_e_step=True,
    quick={"batch_size": 15, "n_passes": 2},
    ways=(
        {"alpha": "learned", "eta": "learned"},
        {"alpha": "asymmetric", "learning_offset": 0.0},
        {"word_budget": 6, "learning_decay": 0.05},
        {"staleness": 1, "batch_size": 2, "n_passes": 3},
        {"expectation": "mean", "word_budget": 9},
    ),
)
CHAIN = (
    *("alpha", "eta", "learn_priors", "sampler", "start", "burn_in", "topics_from", "word_budget"),
)
GIBBS = TrainerSpec(
    name="gibbs",
    title="Latent Dirichlet allocation, collapsed Gibbs sampling",
    model="gibbs",
    import_estimator=lambda: import_module("models.lda.gibbs_lda").GibbsLDA,
    state=GibbsLDAState,
    settings=CHAIN,
    decides=("eta",),
    eta=0.05,
    interval=ValidationInterval(documents=100_000, passes=4),
    quick={"n_iter": 5, "burn_in": 1},
    ways=(
        *({"sampler": each, "learn_priors": "both", "thinning": 2} for each in SAMPLERS),
        {"start": "random", "word_budget": 6, "topics_from": "samples"},
    ),
)
CHAINS = TrainerSpec(
    name="gibbs-chains",
    title="Latent Dirichlet allocation, consensus of chains of collapsed Gibbs sampling",
    model="gibbs",
    import_estimator=lambda: import_module("models.lda.gibbs_chains").GibbsLDAChains,
    state=GibbsChainsState,
    settings=("chains", *CHAIN),
    above={"chains": 1},
    decides=GIBBS.decides,
    eta=GIBBS.eta,
    interval=GIBBS.interval,
    quick={"n_iter": 5, "burn_in": 1, "chains": 3},
    ways=(
        {"sampler": "exact-sparse", "learn_priors": "both", "chains": 2},
        {"start": "random", "chains": 2, "topics_from": "samples"},
    ),
)
FAMILY = Family(name="lda", topics={"lda": LDATopics}, trainers=(ONLINE, CHAINS, GIBBS))
