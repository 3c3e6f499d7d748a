"""Fields of settings classes, with defaults, help texts and choices."""

import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar

AUTO = "auto"  # Model that is chosen by the input, see `pipeline.training.default_model`
BEST_MODEL, STREAMED_MODEL = "gibbs", "online"  # What it is where it fits into memory, and else
LDA_MODELS = (STREAMED_MODEL, BEST_MODEL)
SAMPLED = ("gibbs", "gamma-poisson")  # Models that share settings
Groups = dict[str, tuple[str, ...]]
"""Titles of the groups of `--help`, and the settings in each, the most used first."""


def models_of_all_families() -> tuple[str, ...]:
    """Return the names of all models that can be trained, "auto" first."""
    from models.families import model_names  # noqa: PLC0415 - brings numba along

    return AUTO, *model_names()


def methods_of_all_families() -> tuple[str, ...]:
    """Names of all estimators of held-out likelihood."""
    from evaluation.methods import method_names  # noqa: PLC0415 - brings numba along

    return method_names()


def methods_of_evaluate() -> tuple[str, ...]:
    """Return these names and that of the estimator of differences."""
    from evaluation.difference import METHOD  # noqa: PLC0415 - brings numba along

    return (*methods_of_all_families(), METHOD)


def is_address(text: str) -> bool:
    """Whether a text is a web address rather than a file."""
    return re.match(r"https?://", text, re.IGNORECASE) is not None


def setting(
    default: Any,
    help_text: str,
    *,
    choices: tuple[str, ...] | Callable[[], tuple[str, ...]] | None = None,
    metavar: str = "",
    of: tuple[str, ...] = (),
    short: str = "",
    names_input: bool = False,
    is_positional: bool = False,
) -> Any:
    """Return a field of a settings class, with its help text.

    `choices` that are slow to find are given as a function, with their names in `metavar`. `short`
    is a short option, as -o. `of` lists the models of `train`, or experiments of `reproduce`, that
    have the setting, if not all have it; the help text then begins with them. A setting that
    `names_input` is not taken from the environment, where other commands have settings of the same
    name, and is stored only if it is given. One that `is_positional` is an argument without --.
    """
    if of:
        help_text = f"{', '.join(of)}: {help_text}"
    about = {
        "help": help_text,
        "choices": choices,
        "metavar": metavar,
        "of": of,
        "short": short,
        "names_input": names_input,
        "is_positional": is_positional,
    }
    return field(default=default, metadata=about)


def setting_of(kind: type[Any], name: str, default: Any = None, help_text: str = "") -> Any:
    """Return a field like one of another settings class, maybe with another default or help."""
    other = kind.__dataclass_fields__[name]
    about = dict(other.metadata) | ({"help": help_text} if help_text else {})
    return field(default=other.default if default is None else default, metadata=about)


def choices_of(each: Field[Any]) -> tuple[str, ...]:
    """Return the possible values of a setting; empty if it has no list of them."""
    choices = each.metadata["choices"]
    return tuple(choices() if callable(choices) else choices or ())


@dataclass(frozen=True)
class NoSettings:
    """Settings of a command whose arguments say all: environment and file set nothing."""

    GROUPS: ClassVar[Groups] = {}
