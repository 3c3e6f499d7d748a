"""Public names of a package, each imported when it is first used.

`from models import LDATopics` then waits for neither scikit-learn nor the other families. The names
are listed once, as imports for type checkers (as `lazy_loader.attach_stub` does with a stub file).
"""

import ast
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_exports(
    package: str, file: str, former: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose `__init__.py` is `file`.

    Public are the names that the file imports as themselves: `from module import name as name`. No
    module of the package may have a public name, which importing it would hide. `former` has the
    present names of renamed ones.
    """
    former = former or {}
    imports = (
        node
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    )
    module_of = {
        alias.name: str(node.module)
        for node in imports
        for alias in node.names
        if alias.name == alias.asname
    }

    def import_name(name: str) -> Any:
        if name in former:
            asker = sys._getframe(1).f_globals["__name__"]  # noqa: SLF001
            if asker != "importlib._bootstrap":  # `from package import name` asks twice
                message = f"{package}.{name} is now {former[name]}"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(sys.modules[package], former[name])
        if name not in module_of:
            return submodule(name)
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def submodule(name: str) -> Any:
        try:
            return import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if name.startswith("_") or error.name == f"{package}.{name}":
                message = f"module {package!r} has no attribute {name!r}"
                raise AttributeError(message) from None
            raise

    def all_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return import_name, all_names, sorted(module_of)
