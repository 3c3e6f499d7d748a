"""A league of topic models: the same judge for many trainers, corpora, numbers of topics and seeds.

    python -m benchmarks.league --output DIR                      # train and score what is missing
    python -m benchmarks.league --output DIR --corpora kos classic3 --topics 20 50 --seeds 1 2 3
    python -m benchmarks.league --output DIR --show docs/league.md

A cell is a corpus, K, a trainer and a seed: `DIR/CORPUS/K/TRAINER-SEED.npz` is the model, and the
.json beside it its figures with their replicates. What is there is not done again, so that parts
run at different times, and an interrupted league goes on. Trainers have their libraries' defaults
but for the number of sweeps or passes and, for tomotopy, alpha 0.1 and eta 0.01 (`trainers.py`).

A fifth of the documents is held out; Wikipedia's reference counts come with 2,500 test articles.
Likelihood is by completion of halves of the held-out documents, the same for all. Coherence (NPMI)
is counted in them, and agreement with labels is of them too, with shares that each model infers.
Errors are over documents (`evaluation.figure`), with the variance over seeds added; stability is
over pairs of seeds.
"""
