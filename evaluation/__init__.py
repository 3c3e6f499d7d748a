"""Evaluation of models: held-out likelihood with standard errors, coherence, differences."""

from typing import TYPE_CHECKING

from corpora.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from evaluation.allocation.annealed import MarginalBracket as MarginalBracket
    from evaluation.allocation.annealed import bracket_marginal as bracket_marginal
    from evaluation.allocation.annealed import certify_marginal as certify_marginal
    from evaluation.allocation.exact import MarginalCostError as MarginalCostError
    from evaluation.allocation.log_marginal import log_marginal as log_marginal
    from evaluation.allocation.marginal_estimate import MarginalEstimate as MarginalEstimate
    from evaluation.allocation.marginal_estimate import ParticlePath as ParticlePath
    from evaluation.allocation.pooled import pool_marginals as pool_marginals
    from evaluation.allocation.totals import log_marginal_by_total as log_marginal_by_total
    from evaluation.certificate import Certificate as Certificate
    from evaluation.certificate import certify as certify
    from evaluation.comparison import Comparison as Comparison
    from evaluation.comparison import PairedDifference as PairedDifference
    from evaluation.comparison import compare as compare
    from evaluation.comparison import paired_difference as paired_difference
    from evaluation.difference import LikelihoodDifference as LikelihoodDifference
    from evaluation.difference import log_likelihood_difference as log_likelihood_difference
    from evaluation.document_blocks import ZeroProbabilityError as ZeroProbabilityError
    from evaluation.estimate import LikelihoodEstimate as LikelihoodEstimate
    from evaluation.exact_cost import ExactCostError as ExactCostError
    from evaluation.figure import Figure as Figure
    from evaluation.poisson_mrf.exact_partition import PartitionCostError as PartitionCostError
    from evaluation.poisson_mrf.log_partition import PartitionEstimate as PartitionEstimate
    from evaluation.poisson_mrf.log_partition import log_partition as log_partition
    from evaluation.scorer import log_likelihood as log_likelihood
    from evaluation.token_prediction import prediction as prediction
    from evaluation.topics.agreement import ModelAgreement as ModelAgreement
    from evaluation.topics.agreement import model_agreement as model_agreement
    from evaluation.topics.alignment import TopicAlignment as TopicAlignment
    from evaluation.topics.alignment import TopicPair as TopicPair
    from evaluation.topics.alignment import align_topics as align_topics
    from evaluation.topics.coherence import Coherence as Coherence
    from evaluation.topics.coherence import coherence as coherence
    from evaluation.topics.distance import cross_distances as cross_distances
    from evaluation.topics.distance import topic_distances as topic_distances
    from evaluation.topics.labels import cluster_agreement as cluster_agreement
    from evaluation.topics.map import TopicMap as TopicMap
    from evaluation.topics.map import topic_map as topic_map
    from evaluation.topics.quality import diversity as diversity
    from evaluation.topics.quality import exclusivity as exclusivity
    from evaluation.topics.rank_overlap import rank_biased_overlap as rank_biased_overlap
    from evaluation.topics.relevance import relevance as relevance
    from evaluation.topics.relevance import relevant_words as relevant_words
    from evaluation.topics.relevance import topics_of_words as topics_of_words
    from evaluation.topics.running_text import RunningText as RunningText
    from evaluation.topics.stability import TopicStability as TopicStability
    from evaluation.topics.stability import stability as stability
    from evaluation.topics.typical_documents import typical_documents as typical_documents
    from evaluation.topics.word_coherence import WordCoherence as WordCoherence
    from evaluation.topics.word_coherence import word_coherence as word_coherence
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
