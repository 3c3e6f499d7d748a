"""Topic models: what is learned and how it is fitted; one folder a family."""

from typing import TYPE_CHECKING

from corpora.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from models.allocation.allocation_factors import AllocationFactors as AllocationFactors
    from models.allocation.cell_counts import CellCounts as CellCounts
    from models.allocation.cliques import TableMemoryError as TableMemoryError
    from models.allocation.model import AllocationModel as AllocationModel
    from models.allocation.particles.posterior_sample import PosteriorSample as PosteriorSample
    from models.allocation.particles.posterior_sample import posterior_sample as posterior_sample
    from models.allocation.reachable import UnreachableCellError as UnreachableCellError
    from models.described.topics import DescribedTopics as DescribedTopics
    from models.early_stopping import EarlyStopping as EarlyStopping
    from models.families import Topics as Topics
    from models.gamma_poisson.beta_gamma_pfa import BetaGammaPFA as BetaGammaPFA
    from models.gamma_poisson.beta_gamma_state import BetaGammaPFAState as BetaGammaPFAState
    from models.gamma_poisson.factor_state import GaPState as GaPState
    from models.gamma_poisson.factor_state import KLNMFState as KLNMFState
    from models.gamma_poisson.gap import GaP as GaP
    from models.gamma_poisson.kl_nmf import KLNMF as KLNMF
    from models.gamma_poisson.topics import GammaPoissonTopics as GammaPoissonTopics
    from models.gibbs.state import GibbsLDAState as GibbsLDAState
    from models.gibbs.state import GibbsLDAStep as GibbsLDAStep
    from models.lda.consensus import Consensus as Consensus
    from models.lda.consensus import consensus as consensus
    from models.lda.gibbs_chains import GibbsLDAChains as GibbsLDAChains
    from models.lda.gibbs_chains_state import GibbsChainsState as GibbsChainsState
    from models.lda.gibbs_lda import GibbsLDA as GibbsLDA
    from models.lda.online_lda import OnlineLDA as OnlineLDA
    from models.lda.online_lda_state import OnlineLDAState as OnlineLDAState
    from models.lda.online_lda_state import OnlineLDAStep as OnlineLDAStep
    from models.lda.topics import LDATopics as LDATopics
    from models.poisson_mrf.distribution import FixedLengthPoissonMRF as FixedLengthPoissonMRF
    from models.poisson_mrf.field_state import PoissonMRFState as PoissonMRFState
    from models.poisson_mrf.mixture import LPMRFMixture as LPMRFMixture
    from models.poisson_mrf.node_regressions import NodeRegressions as NodeRegressions
    from models.poisson_mrf.node_regressions import fit_nodes as fit_nodes
    from models.poisson_mrf.node_regressions import fit_path as fit_path
    from models.poisson_mrf.topic_matrices import TopicMatrices as TopicMatrices
    from models.poisson_mrf.topic_matrices import map_assignment as map_assignment
    from models.poisson_mrf.topic_model import LPMRFTopicModel as LPMRFTopicModel
    from models.poisson_mrf.topics import LPMRFClusters as LPMRFClusters
    from models.poisson_mrf.topics import LPMRFTopics as LPMRFTopics
    from models.saved import ModelFormatError as ModelFormatError
    from models.saved import SavedModel as SavedModel
    from models.saved import load_model as load_model
    from models.saved import save_model as save_model
    from models.seed import seed_from as seed_from
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        __file__,
        {
            "PoissonMRFMixture": "LPMRFClusters",
            "PoissonMRFTopicModel": "LPMRFTopics",
            "best_split": "map_assignment",
        },
    )
