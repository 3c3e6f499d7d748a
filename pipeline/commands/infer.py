"""`infer`: the topics of new texts."""

from typing import Any

from pipeline.commands.options import Arguments, Outcome, add_command
from pipeline.setting_sources import resolve
from pipeline.settings import InferSettings

SHOWN = 5  # Topics shown a text


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands, "infer", "the topics of new texts", InferSettings, run, arguments="RUN FILE …"
    )
    parser.add_argument("run_name", metavar="RUN", help="name or path of a run")
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="text file (- is stdin); or several documents in any form that `train INPUT` takes",
    )


def run(arguments: Arguments) -> Outcome:
    """Infer topics of texts, or of counts."""
    settings = resolve(InferSettings, "infer", vars(arguments))
    from pipeline.runs.infer import infer

    return Outcome(infer(settings, arguments.run_name, arguments.files), print_inference)


def print_inference(result: dict[str, Any]) -> None:
    """Print the main topics of each text."""
    for text in result["texts"]:
        name = f"{text['file']}, {text['title']}" if "id" in text else text["file"]
        print(f"{name}: {text['tokens']:,} known words, {text['unknown']:,} unknown")
        for row in text["topics"][:SHOWN]:
            print(f"{row['topic']:5d} {row['proportion']:6.1%}  {' '.join(row['words'])}")
