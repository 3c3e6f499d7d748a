"""How good a model is: held-out likelihood with standard errors, coherence, differences."""

from evaluation.allocation.exact import MarginalCostError
from evaluation.allocation.totals import log_marginal_by_total
from evaluation.certificate import Certificate, certify
from evaluation.checked_counts import ZeroProbabilityError
from evaluation.coherence import Coherence, coherence
from evaluation.comparison import Comparison, compare
from evaluation.estimate import LikelihoodEstimate
from evaluation.lda.exact import ExactCostError
from evaluation.log_likelihood import log_likelihood
from evaluation.log_marginal import log_marginal
from evaluation.log_partition import log_partition
from evaluation.marginal_estimate import MarginalEstimate, ParticlePath
from evaluation.paired_difference import PairedDifference, paired_difference
from evaluation.partition_estimate import PartitionEstimate
from evaluation.poisson_mrf.exact_partition import PartitionCostError
from evaluation.prediction import prediction
from evaluation.running_text import RunningText
from evaluation.topic_quality import diversity, exclusivity

__all__ = [
    "Certificate",
    "Coherence",
    "Comparison",
    "ExactCostError",
    "LikelihoodEstimate",
    "MarginalCostError",
    "MarginalEstimate",
    "PairedDifference",
    "ParticlePath",
    "PartitionCostError",
    "PartitionEstimate",
    "RunningText",
    "ZeroProbabilityError",
    "certify",
    "coherence",
    "compare",
    "diversity",
    "exclusivity",
    "log_likelihood",
    "log_marginal",
    "log_marginal_by_total",
    "log_partition",
    "paired_difference",
    "prediction",
]
