"""The five papers whose figures are reproduced: what they claim, and by which experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Shown(NamedTuple):
    """An experiment, for people."""

    name: str
    """As in `reproduce NAME`."""
    where: str
    """In the paper."""
    shows: str
    """A sentence."""
    needs: str = ""
    """Options without which it cannot run, as no data for it come with the software."""
    why: str = ""
    """What it needs them for."""


@dataclass(frozen=True)
class Paper:
    """One of the five."""

    key: str
    """Of its section in a page."""
    short: str
    citation: str
    url: str
    """Empty if it has no address that stays."""
    claims: tuple[str, ...]
    experiments: tuple[Shown, ...]
    elsewhere: str = ""
    """Where else its figures are reproduced."""


PAPERS = (
    Paper(
        "aldebakel",
        "Aldebakel et al. 2022",
        "Duha Aldebakel, Yu Cao, Anthony Limon, Rui Zhang: Exploration of Variational Inference "
        "and Monte Carlo Markov Chain Models for Latent Dirichlet Allocation of Wikipedia Corpus. "
        "Report, DSC180B, University of California San Diego, 2022.",
        "",
        (
            (
                "Lemmas of nouns, adjectives, verbs and adverbs, without very rare and very common "
                "words, make better topics than raw words."
            ),
            (
                "E-steps that are capped at 5 or 10 rounds end sooner, at a held-out bound that is "
                "no worse than those capped at 40 or 80."
            ),
            "Gibbs sampling reaches the same quality as variational Bayes, but takes longer.",
        ),
        (),
        "Its subject is the pipeline itself: download, train and evaluate. The E-step cap is "
        "measured by python -m benchmarks.e_step_cap, trainers by python -m "
        "benchmarks.lda_trainers, on 25,000 articles; the figures are in docs/benchmarks.md. Its "
        "perplexities mix nats with base 2 or divide by the number of words, so that there is no "
        "number to meet.",
    ),
    Paper(
        "buntine",
        "Buntine 2009",
        "Wray Buntine: Estimating Likelihoods for Topic Models. In: Advances in Machine Learning, "
        "First Asian Conference on Machine Learning, ACML 2009, LNAI 5828, pp. 51–64. Springer.",
        "https://doi.org/10.1007/978-3-642-05224-8_6",
        (
            (
                "The sequential left-to-right sampler (LRS) is unbiased for the probability of a "
                "document, and more precise than all others."
            ),
            "The harmonic mean (HM) is far too high.",
            (
                "Mean-field importance sampling (MFI) and LRS choose the right number of topics; "
                "the particle sampler (LR) does so less clearly, as it is slightly biased."
            ),
        ),
        (
            Shown(
                "buntine-table-1",
                "Table 1",
                "How far estimators of log p(document) under LDA are from the exact value.",
            ),
            Shown(
                "buntine-convergence",
                "Figures 1 and 2",
                "Whether estimates come to the exact value as samples increase.",
            ),
            Shown(
                "buntine-model-selection",
                "Figures 3 to 5",
                "Whether held-out perplexity is lowest at the number of topics of the known model.",
            ),
        ),
    ),
    Paper(
        "capdevila",
        "Capdevila et al. 2018",
        "Joan Capdevila, Jesús Cerquides, Jordi Torres, François Petitjean, Wray Buntine: A "
        "Left-to-right Algorithm for Likelihood Estimation in Gamma-Poisson Factor Analysis. In: "
        "Machine Learning and Knowledge Discovery in Databases, ECML PKDD 2018. Springer.",
        "https://doi.org/10.1007/978-3-030-10928-8_38",
        (
            (
                "Left-to-right sampling with exact conditionals (L2R exact) is nearest to the "
                "exact probabilities on six of six corpora, with sampled ones (L2R) next on four."
            ),
            "Direct sampling (DS) is too low on long documents, the harmonic mean (HM) too high.",
            "A few hundreds of samples of L2R are enough.",
        ),
        (
            Shown(
                "l2r-kl",
                "Figures 1 and 2",
                "How far estimated probabilities of documents are from exact ones under "
                "Gamma-Poisson models, as a KL divergence.",
            ),
            Shown(
                "l2r-convergence",
                "Figure 3",
                "How fast estimators converge on whole documents, where nothing exact is known.",
            ),
        ),
    ),
    Paper(
        "cemgil",
        "Cemgil et al. 2019",
        "Ali Taylan Cemgil, Mehmet Burak Kurutmaz, Sinan Yıldırım, Melih Barsbey, Umut Şimşekli: "
        "Bayesian Allocation Model: Inference by Sequential Monte Carlo for Nonnegative Tensor "
        "Factorizations and Topic Models using Pólya Urns. arXiv:1903.04478, 2019.",
        "https://arxiv.org/abs/1903.04478",
        (
            (
                "Sequential Monte Carlo (SMC) gives the marginal likelihood of counts accurately "
                "where they are few, variational Bayes (VB) does not."
            ),
            "What SMC costs does not depend on the size of a tensor, what VB costs does.",
            "With these scores one can choose a rank, or between graphs of dependence.",
        ),
        (
            Shown(
                "bam-toy",
                "Figure 9",
                "Log marginal likelihoods of two small matrices by SMC and VB beside exact ones.",
            ),
            Shown(
                "bam-histogram",
                "Figure 5",
                "How the probabilities of all allocations of a matrix gather at a few levels.",
            ),
            Shown(
                "bam-parafac",
                "Figure 10",
                "Which rank is found for tensors of a known one, and what it costs over their "
                "size.",
            ),
            Shown(
                "bam-abalone",
                "Figures 12 and 13",
                "Whether a hidden class explains measurements of abalones better than dependence "
                "of all on all, and whether the classes are ages.",
                "--table abalone.csv",
                "the abalone data of the UCI repository "
                "(https://archive.ics.uci.edu/dataset/1/abalone), which do not come with the "
                "software",
            ),
            Shown(
                "bam-letters",
                "Figure 15",
                "Whether pairs of letters are better explained by NMF or by symmetric NMF.",
            ),
            Shown(
                "bam-decompositions",
                "Figure 16",
                "How sparse and how near factors by SMC, VB and least squares are.",
            ),
        ),
    ),
    Paper(
        "inouye",
        "Inouye et al. 2015",
        "David I. Inouye, Pradeep Ravikumar, Inderjit S. Dhillon: Fixed-Length Poisson MRF: Adding "
        "Dependencies to the Multinomial. In: Advances in Neural Information Processing Systems "
        "28, NIPS 2015, pp. 3213–3221.",
        "",
        (
            (
                "Dependencies between words lower the test perplexity of single distributions, of "
                "mixtures, and of topic models of few topics."
            ),
            "The dependencies that are found make sense.",
            "Regressions take time linear in documents and words, annealing in the nonzeros.",
        ),
        (
            Shown(
                "lpmrf-classic3",
                "Figure 3, Classic3",
                "Perplexities of multinomials and of LPMRFs: single, mixtures and topic models.",
            ),
            Shown(
                "lpmrf-wikipedia",
                "Figure 3, Wikipedia",
                "Perplexities of a single multinomial and of a single LPMRF.",
            ),
            Shown(
                "lpmrf-dependencies",
                "Table 1",
                "The top words and the strongest dependencies of three topics.",
            ),
            Shown(
                "lpmrf-scaling",
                "Figure 4",
                "How the seconds of fitting grow with documents, words, topics and nonzeros.",
            ),
        ),
    ),
)
"""In the order of their years, the pipeline first."""

SHOWN = {shown.name: shown for paper in PAPERS for shown in paper.experiments}
"""All experiments by name, in the order in which `reproduce --all` runs them."""
