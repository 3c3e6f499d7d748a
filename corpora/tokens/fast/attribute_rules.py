"""Results of spaCy's attribute ruler, as a table by form and tag.

Almost all of its patterns look at one token, at its lower-cased form and its tag: the ruler itself
is asked once for each tag and each word of a pattern. For patterns of several tokens, it is asked
for just the tokens that could match them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.pipeline import AttributeRuler
from spacy.tokens import Doc

from corpora.errors import UnsupportedPipelineError

LEXICAL: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "ORTH": str, "TEXT": str}
"""Attributes of a pattern that a token's form decides."""
ABSENT = {"DEP", "ENT_TYPE", "ENT_ID", "ENT_IOB", "LEMMA", "POS", "MORPH"}
"""Attributes that no token has when the ruler comes, as nothing before it sets them."""
MAX_PATTERNS = 64  # Patterns of several tokens: as many as a mask has bits


@dataclass(frozen=True, slots=True)
class Ruled:
    """Attributes of a token after the ruler."""

    tag: str
    pos: str
    morph: str
    lemma: str  # Empty if the lemmatizer is to find it


class AttributeRules:
    """The table of the pipeline's ruler. Raises UnsupportedPipelineError for unknown patterns."""

    def __init__(self, ruler: AttributeRuler) -> None:
        self._ruler = ruler
        self._alone, self._in_sequence = _Words(), _Words()
        self._sequences: list[list[list[tuple[str, Any]]]] = []
        patterns: Any = [pattern for rule in ruler.patterns for pattern in rule["patterns"]]  # type: ignore[union-attr]
        for pattern in patterns:
            self._take(pattern)
        if len(self._sequences) > MAX_PATTERNS:
            raise UnsupportedPipelineError(
                f"its attribute ruler has {len(self._sequences)} patterns of several tokens"
            )
        self.lengths = {
            length: sum(1 << s for s, each in enumerate(self._sequences) if len(each) == length)
            for length in sorted(set(map(len, self._sequences)))
        }
        """Tokens of the patterns that have several, and a bit for each pattern of that length."""
        self.longest = max(self.lengths, default=1)  # Tokens of the longest pattern
        self._known: dict[tuple[str, str], Ruled] = {}

    def ruled(self, word: str, tag: str) -> Ruled:
        """Return the attributes of a token of this form and tag, without its neighbours."""
        key = self._kind(word), tag
        if key not in self._known:
            self._known[key] = self.ruled_together([word], [tag])[0]
        return self._known[key]

    def ruled_together(self, words: Sequence[str], tags: Sequence[str]) -> list[Ruled]:
        """Return the attributes of adjacent tokens, by patterns of several tokens too."""
        doc = Doc(self._ruler.vocab, words=list(words), tags=list(tags))
        doc = self._ruler(doc)
        return [Ruled(token.tag_, token.pos_, str(token.morph), token.lemma_) for token in doc]

    def masks(self, words: Iterable[str]) -> NDArray[np.uint64]:
        """(n_words, longest) bit s of column i: the word may be token i of pattern s."""
        nowhere = (0,) * self.longest
        bits = [self._places(word) if self._in_sequence(word) else nowhere for word in words]
        return np.array(bits, dtype=np.uint64).reshape(-1, self.longest)

    def _places(self, word: str) -> tuple[int, ...]:
        return tuple(
            sum(
                1 << s
                for s, sequence in enumerate(self._sequences)
                if i < len(sequence) and all(fulfils(word, each) for each in sequence[i])
            )
            for i in range(self.longest)
        )

    def _take(self, pattern: list[dict[str, Any]]) -> None:
        """Note what words a pattern distinguishes, and the pattern itself if it has several."""
        lexical = []
        for token in pattern:
            for attribute, condition in token.items():
                _check(attribute, condition)
            if any(name in ABSENT and not _may_be_absent(c) for name, c in token.items()):
                return  # it never matches
            lexical.append([(name, c) for name, c in token.items() if name in LEXICAL])
        if len(pattern) > 1:
            self._sequences.append(lexical)
            for conditions in lexical:
                self._in_sequence.add(conditions)
        elif lexical[0]:
            self._alone.add(lexical[0])

    def _kind(self, word: str) -> str:
        """The word if a pattern of one token may mean it; else what stands for all such words."""
        if self._alone(word):
            return word
        return " " if word.isspace() else ""


class _Words:
    """Tells the words that patterns name, quickly: all that may meet one of many conditions."""

    def __init__(self) -> None:
        self._named: dict[str, set[str]] = {}
        self._regexes: list[tuple[str, Any]] = []

    def add(self, conditions: list[tuple[str, Any]]) -> None:
        """Add the words that meet all of these conditions, or more; no condition, all words."""
        if not conditions:
            self._regexes.append(("ORTH", {"REGEX": ""}))
            return
        attribute, condition = conditions[0]
        if isinstance(condition, str):
            self._named.setdefault(attribute, set()).add(condition)
        elif "IN" in condition:
            self._named.setdefault(attribute, set()).update(condition["IN"])
        else:
            self._regexes.append((attribute, condition))

    def __call__(self, word: str) -> bool:
        return any(LEXICAL[name](word) in forms for name, forms in self._named.items()) or any(
            fulfils(word, regex) for regex in self._regexes
        )


def fulfils(word: str, constraint: tuple[str, Any]) -> bool:
    """Whether a form meets the condition of a pattern on LOWER, ORTH or TEXT."""
    attribute, condition = constraint
    form = LEXICAL[attribute](word)
    if isinstance(condition, str):
        return bool(form == condition)
    if "IN" in condition:
        return form in condition["IN"]
    return re.search(condition["REGEX"], form) is not None


def _check(attribute: str, condition: Any) -> None:
    """Raise if it is not known how a pattern's condition is to be met."""
    is_plain = isinstance(condition, str)
    operator = next(iter(condition)) if isinstance(condition, dict) and len(condition) == 1 else ""
    known: bool = (
        (attribute in LEXICAL and (is_plain or operator in ("IN", "REGEX")))
        or (attribute in ABSENT and (is_plain or operator in ("IN", "NOT_IN")))
        or (attribute == "TAG" and (is_plain or operator in ("IN", "NOT_IN", "REGEX")))
        or (attribute == "IS_SPACE" and isinstance(condition, bool))
    )
    if not known:
        raise UnsupportedPipelineError(
            f"its attribute ruler has a pattern with {attribute}: {condition!r}"
        )


def _may_be_absent(condition: Any) -> bool:
    """Whether a token without the attribute meets the condition on it."""
    if isinstance(condition, str):
        return not condition
    ((operator, values),) = condition.items()
    return bool(("" in values) == (operator == "IN"))
