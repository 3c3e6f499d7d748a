"""Steps from a block of tokens to what is counted of it, as objects that can be sent to workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from corpora.tokens.bigrams import Bigrams
    from corpora.tokens.block import TokenBlock
    from corpora.tokens.block_pairs import BlockPairs

Result = TypeVar("Result")


@dataclass(frozen=True)
class PairsOfBlock:
    """Counts the neighbours in a block that may be joined; can be pickled if `keep` can."""

    rule: Bigrams
    """Says which neighbours count; its pairs are of no account."""
    keep: Callable[[str], bool]
    """Whether a document, by its id, is one to learn from."""

    def __call__(self, block: TokenBlock) -> BlockPairs:
        """What `Bigrams.learned` takes."""
        return self.rule.count(block, self.keep)


@dataclass(frozen=True)
class Joined(Generic[Result]):
    """Makes something of a block with its pairs joined; can be pickled if `then` can."""

    bigrams: Bigrams
    then: Callable[[TokenBlock], Result]

    def __call__(self, block: TokenBlock) -> Result:
        """What `then` makes of it."""
        return self.then(self.bigrams.join(block))
