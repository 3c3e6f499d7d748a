"""Model of `train` where none is named.

Gibbs sampling predicts unseen documents best (docs/benchmarks.md), and is taken where its tokens
fit into a share of the memory; online variational Bayes for streams, clusters and larger inputs.
"""

import logging
from dataclasses import fields, replace
from pathlib import Path

import psutil

from corpora import ArticleStore
from corpora.inputs.matrices import CountsInMemory
from pipeline.settings import AUTO, TrainSettings
from pipeline.settings.field import BEST_MODEL, LDA_MODELS, STREAMED_MODEL
from pipeline.text.inputs import NamedInput

logger = logging.getLogger(__name__)

MEMORY_SHARE = 0.5  # Share of the memory that sampling may take
BYTES_A_TOKEN = 12  # Bytes of memory that sampling takes, at most
BYTES_A_BYTE, BYTES_A_BYTE_OF_COUNTS = 3, 6
"""Bytes of memory for each byte of an input on disk: a token has some 6 bytes of compressed text in
a shard, and 2 in compressed counts, where these are small numbers."""
CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def decide_model(
    settings: TrainSettings,
    named: NamedInput | None = None,
    begun: TrainSettings | None = None,
    n_at_once: int = 1,
) -> TrainSettings:
    """Replace a `model` of "auto" by that of `begun`, if a run was begun, or by the best one.

    `named` is the input, if it is neither a store nor the sample; `n_at_once` runs are trained at
    the same time. Which model it is, and why, is logged in one line.
    """
    if settings.model != AUTO:
        return settings
    if begun is not None:
        return replace(settings, model=begun.model)
    model, reason = choose_model(settings)
    if not model:
        needed = sampling_bytes(settings, named) * settings.chains * n_at_once
        available = memory_bytes()
        fits = needed <= MEMORY_SHARE * available
        model = BEST_MODEL if fits else STREAMED_MODEL
        size = f"{needed / 1e9:,.1f}" if needed >= 1e8 else "less than 0.1"
        of_memory = f"an estimated {size} of {available / 1e9:,.1f} GB of memory"
        reason = f"the best topics, in {of_memory}"
        if not fits:
            reason = f"{BEST_MODEL} takes {of_memory}, which may not fit"
    logger.info("--model %s: %s; name a --model to fix it", model, reason)
    return replace(settings, model=model)


def choose_model(settings: TrainSettings) -> tuple[str, str]:
    """Return the model that other settings ask for, and why; empty if they ask for none."""
    own: dict[str, str] = {}
    for each in fields(settings):
        models, value = each.metadata["of"], getattr(settings, each.name)
        of_both = [model for model in LDA_MODELS if model in models]
        if len(of_both) == 1 and value != each.default:
            own[of_both[0]] = f"it has --{each.name.replace('_', '-')}"
        elif each.name in ("alpha", "eta") and value == "learned":
            own[STREAMED_MODEL] = f"it has --{each.name} learned"
    if settings.cluster and not own:
        own[STREAMED_MODEL] = "its steps are spread over the --cluster"
    return next(((model, own[model]) for model in LDA_MODELS if model in own), ("", ""))


def sampling_bytes(settings: TrainSettings, named: NamedInput | None) -> int:
    """Return the memory that sampling takes, by the tokens in memory or the size on disk."""
    if named is not None and isinstance(named.found, CountsInMemory):
        return BYTES_A_TOKEN * named.found.held.n_tokens
    if named is not None:
        factor = BYTES_A_BYTE_OF_COUNTS if named.kind == "counts" else BYTES_A_BYTE
        return factor * named.found.n_bytes
    store = ArticleStore(settings.articles) if settings.articles else None
    if store is None or not store.exists:
        return 0  # the sample, or an error to come
    return BYTES_A_BYTE * sum(entry.bytes for entry in store.entries)


def memory_bytes() -> int:
    """Return the memory of the machine, or the limit of its container if that is less."""
    limits = [psutil.virtual_memory().total]
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(path.read_text("utf-8")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(limits)
