"""The likelihood of documents under models of Poisson MRFs: estimators, and refusals."""

from evaluation.family import Method, Refusable, Scoring, Validation
from evaluation.poisson_mrf.annealed import annealed
from evaluation.poisson_mrf.exact_likelihood import check_affordable, exact, mixture_exact
from evaluation.poisson_mrf.map_assignment import map_assignment
from models.poisson_mrf.distribution import FixedLengthPoissonMRF
from models.poisson_mrf.topics import LPMRFClusters, LPMRFTopics

GIVEN_PARTITION_FUNCTIONS = (
    "Given estimates of the model's partition functions, whose error is not in the figure."
)
NO_HALVES = (
    "a Poisson MRF of L tokens is one of whole documents, and does not say what a part of one is "
    "like, nor the other part given that"
)
NO_EXACT_DRAWS = (
    "from a Poisson MRF documents are drawn by Markov chains only, and exact draws are what a "
    "bracket is made of"
)
REFUSES: dict[Refusable, str] = {
    "certify": NO_EXACT_DRAWS,
    "completion": NO_HALVES,
    "restriction": "for Poisson MRFs",
    "smoothing": "in which no word is impossible",
}
CAVEAT = "Partition functions of Poisson MRFs are estimates, whose error is in no figure here."
VALIDATION_MEASURE = "likelihood of whole documents"

EXACT = Method(
    "exact",
    exact,
    "The model's own probability, with no sampling.",
    is_sampled=False,
    caveat=GIVEN_PARTITION_FUNCTIONS,
    check_cost=check_affordable,
)
ANNEALED = Method(
    "annealed-importance-sampling",
    annealed,
    "Unbiased for the probability of a document, by Markov chains that are led up to the model "
    "step by step. With few chains or steps it errs towards a perplexity that is too high.",
    is_unbiased=True,
    caveat=GIVEN_PARTITION_FUNCTIONS,
)
BEST_SPLIT = Method(
    "best-split",
    map_assignment,
    "Not a perplexity, as it is no probability: each document at its one best division among "
    "topics, as published with Poisson MRFs. It may lie on either side of the truth, and is here "
    "for comparison with the literature.",
    is_sampled=False,
    is_quotable=False,
    scored="whole documents, each at its best split",
)
MIXTURE_EXACT = Method(
    "exact", mixture_exact, EXACT.meaning, is_sampled=False, caveat=GIVEN_PARTITION_FUNCTIONS
)

SCORINGS = (
    Scoring(
        topics=LPMRFTopics,
        methods=(EXACT, ANNEALED, BEST_SPLIT),
        default="annealed-importance-sampling",
        shown=("annealed-importance-sampling", "best-split"),
        # With one chain a document's likelihood is a little low, about as much at each validation.
        validation=Validation("annealed-importance-sampling", VALIDATION_MEASURE),
        refuses=REFUSES,
        caveat=CAVEAT,
        advice={
            FixedLengthPoissonMRF: "which has no partition functions of its own: make a mixture of "
            "one, LPMRFClusters.of_fields([mrf], table, [1.0]), with the table of "
            "models.poisson_mrf.partition_table"
        },
    ),
    Scoring(
        topics=LPMRFClusters,
        methods=(MIXTURE_EXACT, BEST_SPLIT),
        default="exact",
        shown=("exact", "best-split"),
        validation=Validation("exact", VALIDATION_MEASURE),
        refuses=REFUSES,
        caveat=CAVEAT,
    ),
)
