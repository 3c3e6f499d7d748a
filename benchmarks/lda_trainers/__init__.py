"""Every LDA trainer, ours and the peers', on the same counts, judged by one held-out perplexity.

    python -m benchmarks.lda_trainers [--topics 25 100 1000] [--seconds 40 60 180]

What is equal: the counts (`benchmarks.reference_counts`), alpha 0.1 and eta 0.01 to begin with, two
threads or processes for whoever can use them (gensim's LdaModel and `lda` cannot), and the document
completion of the same test documents that scores all topics. The variational trainers make four
passes in batches of 1,000 with the same step sizes; the samplers sample for `--seconds`. tomotopy
learns alpha every ten sweeps, as it does by default, and so does GibbsLDA; with --fixed-priors
neither does. No other trainer here learns a prior. Trainers named "-stream" are given 1,000
documents at a time by `partial_fit` (gensim: `update`) and are not told how many there will be;
GibbsLDA passes the stream once, with `n_iter` 50.

What is timed: training alone, from handing over the counts in the library's own input format (see
`trainers`), so with every library's own layout of the data and start. Kernels are compiled before,
and scikit-learn's worker processes, which live on from one fit to the next, are there before.
Looking is not timed: a look writes the topics to a file, with all child processes halted, and the
files are scored when training has ended. Each run has a process of its own, one after the other.

CPU seconds are of all threads and child processes. Peak memory is the resident set of training, of
all processes, with pages that several share counted in each; "at start" is what Python, packages
and the input take. "time to" is the first look that is at or below a peer's last perplexity, for
the peer itself too. Clocks and memory of child processes are read from /proc: Linux only.
"""
