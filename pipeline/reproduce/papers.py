"""The five papers: what they claim, and the experiments that reproduce them."""

from pipeline.reproduce.aldebakel2022 import e_step_caps, topics_by_coherence
from pipeline.reproduce.buntine2009 import convergence as buntine_convergence
from pipeline.reproduce.buntine2009 import model_selection, table_1
from pipeline.reproduce.capdevila2018 import convergence as l2r_convergence
from pipeline.reproduce.capdevila2018 import kl
from pipeline.reproduce.cemgil2019 import abalone, decompositions, histogram, letters, parafac, toy
from pipeline.reproduce.experiment import Paper
from pipeline.reproduce.inouye2015 import dependencies, perplexity, scaling

PAPERS = (
    Paper(
        "aldebakel",
        "Aldebakel et al. 2022",
        "Duha Aldebakel, Yu Cao, Anthony Limon, Rui Zhang: Exploration of Variational Inference "
        "and Monte Carlo Markov Chain Models for Latent Dirichlet Allocation of Wikipedia Corpus. "
        "Report, DSC180B, University of California San Diego, 2022.",
        "",
        "Lemmas of nouns, adjectives, verbs and adverbs, without very rare and very common words, "
        "make better topics than raw words.\n"
        "E-steps that are capped at 5 or 10 rounds end sooner, at a held-out bound that is no "
        "worse than those capped at 40 or 80.\n"
        "Gibbs sampling reaches the same quality as variational Bayes, but takes longer.\n"
        "Coherence is highest at about 25 topics.",
        (e_step_caps.EXPERIMENT, topics_by_coherence.EXPERIMENT),
        "Lemmas against raw words need texts, not counts: train them with --parts-of-speech. The "
        "number of words that topics need, by early stopping (Figure 17), is not reproduced; "
        "--word-budget is its model. Times against other libraries, on 25,000 articles, are in "
        "docs/benchmarks.md. Its perplexities mix nats with base 2 or divide by the number of "
        "words, so that there is no number to meet.",
    ),
    Paper(
        "buntine",
        "Buntine 2009",
        "Wray Buntine: Estimating Likelihoods for Topic Models. In: Advances in Machine Learning, "
        "First Asian Conference on Machine Learning, ACML 2009, LNAI 5828, pp. 51–64. Springer.",
        "https://doi.org/10.1007/978-3-642-05224-8_6",
        "The sequential left-to-right sampler (LRS) is unbiased for the probability of a "
        "document, and more precise than all others.\n"
        "The harmonic mean (HM) is far too high.\n"
        "Mean-field importance sampling (MFI) and LRS choose the right number of topics; the "
        "particle sampler (LR) does so less clearly, as it is slightly biased.",
        (table_1.EXPERIMENT, buntine_convergence.EXPERIMENT, model_selection.EXPERIMENT),
    ),
    Paper(
        "capdevila",
        "Capdevila et al. 2018",
        "Joan Capdevila, Jesús Cerquides, Jordi Torres, François Petitjean, Wray Buntine: A "
        "Left-to-right Algorithm for Likelihood Estimation in Gamma-Poisson Factor Analysis. In: "
        "Machine Learning and Knowledge Discovery in Databases, ECML PKDD 2018. Springer.",
        "https://doi.org/10.1007/978-3-030-10928-8_38",
        "Left-to-right sampling with exact conditionals (L2R exact) is nearest to the exact "
        "probabilities on six of six corpora, with sampled ones (L2R) next on four.\n"
        "Direct sampling (DS) is too low on long documents, the harmonic mean (HM) too high.\n"
        "A few hundreds of samples of L2R are enough.",
        (kl.EXPERIMENT, l2r_convergence.EXPERIMENT),
    ),
    Paper(
        "cemgil",
        "Cemgil et al. 2019",
        "Ali Taylan Cemgil, Mehmet Burak Kurutmaz, Sinan Yıldırım, Melih Barsbey, Umut Şimşekli: "
        "Bayesian Allocation Model: Inference by Sequential Monte Carlo for Nonnegative Tensor "
        "Factorizations and Topic Models using Pólya Urns. arXiv:1903.04478, 2019.",
        "https://arxiv.org/abs/1903.04478",
        "Sequential Monte Carlo (SMC) gives the marginal likelihood of counts accurately where "
        "they are few, variational Bayes (VB) does not.\n"
        "What SMC costs does not depend on the size of a tensor, what VB costs does.\n"
        "With these scores one can choose a rank, or between graphs of dependence.",
        tuple(
            each.EXPERIMENT for each in (toy, histogram, parafac, abalone, letters, decompositions)
        ),
    ),
    Paper(
        "inouye",
        "Inouye et al. 2015",
        "David I. Inouye, Pradeep Ravikumar, Inderjit S. Dhillon: Fixed-Length Poisson MRF: Adding "
        "Dependencies to the Multinomial. In: Advances in Neural Information Processing Systems "
        "28, NIPS 2015, pp. 3213–3221.",
        "",
        "Dependencies between words lower the test perplexity of single distributions, of "
        "mixtures, and of topic models of few topics.\n"
        "The dependencies that are found make sense.\n"
        "Regressions take time linear in documents and words, annealing in the nonzeros.",
        (perplexity.CLASSIC3, perplexity.WIKIPEDIA, dependencies.EXPERIMENT, scaling.EXPERIMENT),
    ),
)  # Papers by year, the one on the pipeline first

EXPERIMENTS = {each.name: each for paper in PAPERS for each in paper.experiments}  # By name
