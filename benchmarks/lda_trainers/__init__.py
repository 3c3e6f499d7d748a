"""Every LDA trainer, ours and the peers', on the same counts, judged by one held-out perplexity.

    python -m benchmarks.lda_trainers --output DIR [--topics 25 100 1000] [--seconds 40 60 180]
        [--seeds 1 2 3] [--documents 25000 130000] [--ours NAME ...] [--peers NAME ...]

Runs are kept in DIR/runs.jsonl, one a line, and one that is there is not made again: the same
command goes on where it was stopped, and others with the same DIR add to the table. It has one run
of a trainer, seed and number of topics, documents and threads; of several the last counts. What
failed is kept, too, with the reason; delete its line to try again. `--plot-only` shows what is
there. Take another DIR for other versions, code or settings.

What is equal: the counts (`benchmarks.reference_counts`), eta 0.01 and alpha to begin with (0.1, or
as much less as makes its sum 20), `--threads` threads or processes for whoever can use them
(gensim's LdaModel, pyrmallet and `lda` cannot), and the document completion of the same test
documents that scores all topics. The variational trainers make four passes in batches of 1,000 with
the same step sizes; the samplers sample for `--seconds`. Samplers that learn priors do so every ten
sweeps: GibbsLDA and tomotopy alpha, topica (but for cvb0) and pyrmallet alpha and the size of eta;
with --fixed-priors none does. No other trainer here learns a prior. Trainers named "-stream" are
given 1,000 documents at a time by `partial_fit` (gensim: `update`) and are not told how many there
will be; GibbsLDA passes the stream once, with `n_iter` 50. topica-sparse and pyrmallet are MALLET's
algorithm; poismf fits Poisson factors. fastTopics is for R and is not here.

`--documents` beyond the 25,000 adds documents of random halves of two (see `recombined`); the test
documents stay as they are. So trainers can be compared on more documents, but not perplexities
between numbers of documents.

What is timed: training alone, from handing over the counts in the library's own input format (see
`trainers`), so with every library's own layout of the data and start. Kernels are compiled before,
and scikit-learn's worker processes, which live on from one fit to the next, are there before.
Looking is not timed: a look writes the topics to a file, with all child processes halted, and the
files are scored when training has ended. Each run has a process of its own, one after the other.
topica, pyrmallet and poismf cannot be looked at: each of their looks is a fit of its own (see
`separate_fits`), so that such a run takes 1.3 to 1.5 times `--seconds`.

CPU seconds are of all threads and child processes. Peak memory is the resident set of training, of
all processes, with pages that several share counted in each; "at start" is what Python, packages
and the input take. "To the last of" a peer is the first look that is at or below the peer's last
perplexity, for the peer itself too; "ours then" is our last look that was no later than the peer's
last, by the wall clock and by CPU seconds. Clocks and memory of child processes are read from
/proc: Linux only.
"""
