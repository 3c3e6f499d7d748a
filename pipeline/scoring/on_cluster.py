"""Held-out scores by the workers of a cluster: a task for each block of documents and model.

Documents are sent with the tasks, models once to each worker: workers read no files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evaluation import LikelihoodEstimate
    from evaluation.document_blocks import DocumentBlock
    from evaluation.scorer import Scorer
    from pipeline.cluster.cluster import Cluster


def score_item(item: tuple[int, DocumentBlock], *scorers: Scorer) -> LikelihoodEstimate:
    """Score a block by the scorer of that number, on one thread of a worker."""
    number, block = item
    return scorers[number].score(block, 1)


def scored_on(
    cluster: Cluster, scorers: Sequence[Scorer], items: Iterable[tuple[int, DocumentBlock]]
) -> Iterator[tuple[int, int, LikelihoodEstimate]]:
    """Yield the same bits as `pipeline.scoring.blocks.scored_here`, in order of completion.

    Blocks are made as they are needed. Leaving the generator cancels running tasks.

    Raises ClusterLostError if the scheduler is lost.
    """
    in_flight: dict[int, tuple[int, int]] = {}

    def noted() -> Iterator[tuple[int, DocumentBlock]]:
        for i, (number, block) in enumerate(items):
            in_flight[i] = number, block.first_document
            yield number, block

    for i, found in cluster.map(score_item, noted(), *(cluster.share(each) for each in scorers)):
        yield *in_flight.pop(i), found
