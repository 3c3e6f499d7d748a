"""Software of workers: whether it gives the same bits as the client's."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.version import software_version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Result = TypeVar("Result")

PACKAGES = ("numba", "numpy", "scipy", "spacy")


@cache
def describe_environment() -> dict[str, str]:
    """Return versions of the software that results depend on, and the processor of kernels."""
    from llvmlite import binding  # noqa: PLC0415 - brings LLVM along
    from numba.core import config  # noqa: PLC0415

    about = {name: metadata.version(name) for name in PACKAGES}
    python = ".".join(platform.python_version_tuple()[:2])
    about |= {"wikitopics": software_version(), "python": python}
    return about | {"processor": str(vars(config).get("CPU_NAME") or binding.get_host_cpu_name())}


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Describe differences between versions; empty if there are none.

    Processors do not count: kernels run on all of them, though last bits may differ.
    """
    return ", ".join(
        f"{name} {theirs.get(name, 'none')} in place of {version}"
        for name, version in ours.items()
        if name != "processor" and theirs.get(name) != version
    )


def called(
    function: Callable[..., Result], environment: Mapping[str, str], *arguments: Any
) -> Result:
    """Call the function on a worker, if its software is the client's.

    Raises RuntimeError if the software differs, as of a worker that joined after the client's
    check.
    """
    from pipeline.errors import ClusterError  # noqa: PLC0415

    if different := differences(environment, describe_environment()):
        from distributed import get_worker  # noqa: PLC0415

        raise ClusterError(
            f"worker {get_worker().address} has {different}: install the same versions"
        )
    return function(*arguments)


def hold(_: object) -> None:
    """Do nothing: a task that makes a worker hold a value."""
