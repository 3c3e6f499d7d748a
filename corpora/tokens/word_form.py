"""The form in which words are stored and compared, and which of them are made of letters."""

import unicodedata


def normalized(lemma: str) -> str:
    """The one form in which a word is stored and compared: lower case, Unicode's composed form."""
    return unicodedata.normalize("NFC", lemma.lower())


def is_alphabetic(word: str) -> bool:
    """Whether `word` is letters of any script, with their marks, such as the vowel signs of Hindi
    and the tone marks of Thai, to which `str.isalpha` says no.
    """
    return word.isalpha() or (
        bool(word) and all(unicodedata.category(character)[0] in "LM" for character in word)
    )
