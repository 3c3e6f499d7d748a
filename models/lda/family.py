"""Latent Dirichlet allocation as a family of topic models."""

from importlib import import_module

from models.family import Family, TrainerSpec, ValidationInterval
from models.gibbs.state import GibbsLDAState
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
        *("learning_decay", "learning_offset", "word_budget", "staleness"),
    ),
    decides=("eta",),
    passes="n_passes",
    interval=ValidationInterval(documents=25_000, passes=1),
    distributes_e_step=True,
)
GIBBS = TrainerSpec(
    name="gibbs",
    title="Latent Dirichlet allocation, collapsed Gibbs sampling",
    model="gibbs",
    import_estimator=lambda: import_module("models.lda.gibbs_lda").GibbsLDA,
    state=GibbsLDAState,
    settings=("alpha", "eta", "learn_priors", "sampler", "start", "burn_in", "word_budget"),
    decides=("eta",),
    interval=ValidationInterval(documents=100_000, passes=4),
)
FAMILY = Family(name="lda", topics={"lda": LDATopics}, trainers=(ONLINE, GIBBS))
