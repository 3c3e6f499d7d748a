"""Checks of settings; errors name the setting."""

from numbers import Integral, Real
from typing import Any


def check_whole(name: str, value: Any, least: int) -> None:
    """Raise TypeError or ValueError unless the setting is a whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, found {value!r}")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, found {value}")


def check_number(name: str, value: Any) -> None:
    """Raise TypeError unless the setting is a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, found {value!r}")
