"""How good a model is: held-out likelihood with standard errors, coherence, differences."""

from evaluation.allocation.exact import MarginalCostError
from evaluation.allocation.log_marginal import log_marginal
from evaluation.allocation.marginal_estimate import MarginalEstimate, ParticlePath
from evaluation.allocation.totals import log_marginal_by_total
from evaluation.certificate import Certificate, certify
from evaluation.checked_counts import ZeroProbabilityError
from evaluation.coherence import Coherence, coherence
from evaluation.comparison import Comparison, compare
from evaluation.estimate import LikelihoodEstimate
from evaluation.exact_cost import ExactCostError
from evaluation.log_likelihood import log_likelihood
from evaluation.paired_difference import PairedDifference, paired_difference
from evaluation.poisson_mrf.exact_partition import PartitionCostError
from evaluation.poisson_mrf.log_partition import PartitionEstimate, log_partition
from evaluation.prediction import prediction
from evaluation.relevance import relevance, relevant_words, topics_of_words
from evaluation.running_text import RunningText
from evaluation.topic_alignment import TopicAlignment, TopicPair, align_topics
from evaluation.topic_distance import cross_distances, topic_distances
from evaluation.topic_map import TopicMap, topic_map
from evaluation.topic_quality import diversity, exclusivity
from evaluation.typical_documents import typical_documents

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
    "TopicAlignment",
    "TopicMap",
    "TopicPair",
    "ZeroProbabilityError",
    "align_topics",
    "certify",
    "coherence",
    "compare",
    "cross_distances",
    "diversity",
    "exclusivity",
    "log_likelihood",
    "log_marginal",
    "log_marginal_by_total",
    "log_partition",
    "paired_difference",
    "prediction",
    "relevance",
    "relevant_words",
    "topic_distances",
    "topic_map",
    "topics_of_words",
    "typical_documents",
]
