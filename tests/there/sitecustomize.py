"""Every process with this folder in its path is on Windows, as far as `tests.on_windows` goes."""

import tests.on_windows

__all__ = ["tests"]
