"""`convert`: bags of words from one format into another; a run's topics as MALLET writes them."""

from dataclasses import fields
from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.settings import NoSettings

FORMATS = "uci, mtx, ldac, npz, jsonl, text, corpus"


def add(commands: Any) -> None:
    """Add the command to the parser: no settings, as environment and file decide nothing here."""
    parser = add_command(
        commands, "convert", "bags of words into another format", NoSettings, run, arguments="A B"
    )
    parser.add_argument("source", metavar="A", help="file or directory to read; a run, too")
    parser.add_argument("target", metavar="B", help="file or directory to write")
    parser.add_argument(
        "--from",
        dest="source_format",
        default="",
        metavar="FORMAT",
        help=f"format of A, if its name does not tell: {FORMATS}, mallet-state",
    )
    parser.add_argument(
        "--to",
        dest="target_format",
        default="",
        metavar="FORMAT",
        help=f"format of B: {FORMATS}; of a run also mallet-topic-keys, mallet-doc-topics, "
        "mallet-state",
    )
    parser.add_argument(
        "--vocabulary",
        metavar="FILE",
        help="words of A, a line each; by default the file beside A; numbers: numbers as words",
    )
    parser.add_argument("--force", action="store_true", help="replace B if it is there already")


def run(arguments: Arguments) -> Outcome:
    """Convert a file or a run."""
    from pipeline.runs.convert import Conversion, convert

    asked = Conversion(**{each.name: getattr(arguments, each.name) for each in fields(Conversion)})
    return Outcome(convert(asked), print_conversion)


def print_conversion(result: dict[str, Any]) -> None:
    """Print one line."""
    sizes = [
        f"{result[name]:,} {name}"
        for name in ("documents", "words", "tokens", "topics")
        if name in result
    ]
    print(f"{result['output']}: {', '.join(sizes)}")
