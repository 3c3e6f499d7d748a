"""Part of speech and lemma for every form and tag, found once and looked up from then on."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.lookups import Lookups
from spacy.pipeline import Lemmatizer
from spacy.tokens import Doc

from corpora.tokens.fast.attribute_rules import AttributeRules, Ruled
from corpora.tokens.fast.growing_array import GrowingArray
from corpora.tokens.fast.lexicon import Lexicon

UNKNOWN = -1


class LemmaTable:
    """Entries, each of a lemma, a part of speech and a tag, and where they apply. `labels` are the
    tags in the order of the tagger; `lemmatizer` is the pipeline's.
    """

    def __init__(
        self, lexicon: Lexicon, labels: Sequence[str], rules: AttributeRules, lemmatizer: Lemmatizer
    ) -> None:
        self._lexicon = lexicon
        self._labels = tuple(labels)
        self._rules = rules
        self._lemmatizer = with_sets(lemmatizer)
        self.clear()

    def clear(self) -> None:
        """Forget all; together with the lexicon, whose rows this is about."""
        self._entry_of = GrowingArray(np.int32, (len(self._labels),))
        self._masks = GrowingArray(np.uint64, (self._rules.longest,))
        self._number_of: dict[tuple[str, str, str], int] = {}
        self.entries: list[tuple[str, str, str]] = []  # Lemma, part of speech and tag of each entry

    def keep(self, forms: NDArray[np.int64]) -> None:
        """Keep these forms, in this order, and the entries that they have; together with the
        lexicon, which has forgotten the others.
        """
        self._entry_of.keep(forms)
        self._masks.keep(forms)
        of_forms = self._entry_of.rows
        known = of_forms != UNKNOWN
        used, numbers = np.unique(of_forms[known], return_inverse=True)
        of_forms[known] = numbers
        self.entries = [self.entries[e] for e in used.tolist()]
        self._number_of = {entry: number for number, entry in enumerate(self.entries)}

    def look_up(
        self, rows: NDArray[np.int32], tags: NDArray[np.int16], text_of: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """(n_tokens,) the entry of each token, from its row (n_tokens,) of the lexicon, its tag
        (n_tokens,) as an index of the labels, and its text (n_tokens,), ascending.
        """
        self._grow()
        forms = self._lexicon.form_of[rows]
        entries = self._entry_of.rows[forms, tags]
        unknown = np.flatnonzero(entries == UNKNOWN)
        if len(unknown):
            self._learn(forms[unknown], tags[unknown])
            entries[unknown] = self._entry_of.rows[forms[unknown], tags[unknown]]
        for start, end in self._sequences(forms, text_of):
            words = [self._lexicon.words[form] for form in forms[start:end].tolist()]
            names = [self._labels[tag] for tag in tags[start:end].tolist()]
            entries[start:end] = self._entries(words, self._rules.ruled_together(words, names))
        return entries

    def _grow(self) -> None:
        """Make room for the forms that the lexicon got meanwhile."""
        n_before, n_forms = len(self._entry_of), len(self._lexicon.words)
        if n_forms > n_before:
            self._entry_of.append(np.full((n_forms - n_before, len(self._labels)), UNKNOWN))
            self._masks.append(self._rules.masks(self._lexicon.words[n_before:]))

    def _learn(self, forms: NDArray[np.int32], tags: NDArray[np.int16]) -> None:
        """Find the entries for forms with tags, each as often as it may come."""
        pairs = np.unique(forms.astype(np.int64) * len(self._labels) + tags)
        which_forms, which_tags = np.divmod(pairs, len(self._labels))
        words = [self._lexicon.words[form] for form in which_forms.tolist()]
        names = [self._labels[tag] for tag in which_tags.tolist()]
        ruled = [self._rules.ruled(*pair) for pair in zip(words, names, strict=True)]
        self._entry_of.rows[which_forms, which_tags] = self._entries(words, ruled)

    def _entries(self, words: list[str], ruled: list[Ruled]) -> list[int]:
        numbers = []
        for lemma, r in zip(self._lemmas(words, ruled), ruled, strict=True):
            entry = lemma, r.pos, r.tag
            number = self._number_of.setdefault(entry, len(self.entries))
            if number == len(self.entries):
                self.entries.append(entry)
            numbers.append(number)
        return numbers

    def _lemmas(self, words: list[str], ruled: list[Ruled]) -> list[str]:
        doc = Doc(
            self._lemmatizer.vocab,
            words=words,
            pos=[r.pos for r in ruled],
            morphs=[r.morph for r in ruled],
        )
        lemmas = [
            r.lemma
            if r.lemma and not self._lemmatizer.overwrite
            else self._lemmatizer.lemmatize(token)[0]
            for token, r in zip(doc, ruled, strict=True)
        ]
        self._lemmatizer.cache.clear()  # it would grow for ever
        return lemmas

    def _sequences(
        self, forms: NDArray[np.int32], text_of: NDArray[np.int64]
    ) -> list[tuple[int, int]]:
        """Return the ranges in which patterns of several tokens may match; overlaps are merged."""
        masks = self._masks.rows[forms]
        found: list[tuple[int, int]] = []
        for length, which in self._rules.lengths.items():
            n_places = len(forms) - length + 1
            if n_places < 1:
                continue
            hits = np.full(n_places, which, dtype=np.uint64)
            for i in range(length):
                hits &= masks[i : n_places + i, i]
            starts = np.flatnonzero(hits)
            within = text_of[starts] == text_of[starts + length - 1]
            found += [(start, start + length) for start in starts[within].tolist()]
        merged: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged


def with_sets(lemmatizer: Lemmatizer) -> Lemmatizer:
    """An equal lemmatizer that finds words in sets, not lists: 40,000 English nouns."""
    lookups = Lookups()
    for name in lemmatizer.lookups.tables:
        table = dict(lemmatizer.lookups.get_table(name))
        if name == "lemma_index":
            table = {pos: frozenset(words) for pos, words in table.items()}
        lookups.add_table(name, table)
    twin = type(lemmatizer)(
        lemmatizer.vocab, None, mode=lemmatizer.mode, overwrite=lemmatizer.overwrite
    )
    twin.initialize(lookups=lookups)
    return twin
