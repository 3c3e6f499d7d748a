"""Text of templates that are part of a sentence, or a quotation, as readers see it.

Wikitext does not define its templates, so most are removed whole. A few are so common and simple
that their text can be given: `{{lang|la|quid}}` shows "quid". Their names are English Wikipedia's.
"""

import re
from collections.abc import Callable

from corpora.articles.main_sections import CUT

OPENING, CLOSING = re.compile(r"\{\{"), re.compile(r"\}\}")
LINK_OR_BAR = re.compile(r"\[\[[^\[\]]*+\]\]|(?P<bar>\|)")
MAX_DEPTH = 8
"""Levels of nested templates whose text is kept; a limit, as each level copies its content."""

SHOW_THE_FIRST = """
nowrap nobr small smaller big large larger sub sup sc smallcaps small_caps em strong abbr tooltip
vanchor visible_anchor linktext angbr angle_bracket not_a_typo as_written notatypo proper_name
ill interlanguage_link illm flag flagcountry country okina_text keypress key_press kbd
ipa_text native_phrase mono var transl. gloss single_quote nobold noitalic normal
"""
SHOW_THE_SECOND = "lang langx native_name script lang_unicode"
SHOW_THE_LAST = "transl transliteration translit"
QUOTATIONS = "quote blockquote quotation cquote bquote quotetext centered_pull_quote pull_quote"
SHIPS = "hms uss hmas hmcs hmnzs ss mv rms sms usns uscgc"
SIGNS = {
    "snd": " – ", "spaced ndash": " – ", "spaced en dash": " – ", "ndash": "–", "mdash": "—",
    "mdashb": "—", "nbsp": " ", "thinsp": " ", "'": "'", "'s": "'s", "' \"": "'\"", "\" '": "\"'",
    "-'": "'", "!": "|", "=": "=", "zwj": "", "okina": "ʻ", "ayin": "ʿ", "hamza": "ʾ",
}  # fmt: skip
MONTHS = """
January February March April May June July August September October November December
"""
MONTH = MONTHS.split()
UNITS = {
    "c": "°C", "f": "°F", "ft": "feet", "in": "inches", "yd": "yards", "mi": "miles",
    "nmi": "nautical miles", "acre": "acres", "lb": "pounds", "oz": "ounces",
    "sqmi": "square miles", "sqft": "square feet", "cuft": "cubic feet",
    "km2": "km²", "m2": "m²", "m3": "m³", "km3": "km³", "sqkm": "km²",
    "impgal": "gallons", "usgal": "gallons", "hp": "horsepower",
}  # fmt: skip
BETWEEN = {
    "to": " to ", "-": "–", "–": "–", "and": " and ", "or": " or ", "x": " × ", "by": " by ",
    "to(-)": " to ", "and(-)": " and ",
}  # fmt: skip
NUMBER = re.compile(r"[-+−]?[\d.,/⁄+]+")

Arguments = dict[str, str]
Show = Callable[[str, Arguments], str | None]
"""Gives the text of a template of a name and with arguments; None if it is not known."""


def show_templates(text: str) -> str:
    """Return `text` with each template as the text it shows, or `CUT`; linear time on any input."""
    first, *rest = OPENING.split(text)
    levels = [[first]]  # pieces of text in each open template
    openers: list[str] = []
    heights = [0]  # nesting depth of the kept templates inside each open one
    for chunk in rest:
        # Of an odd number of braces, the last three are a parameter's.
        opener = "{{{" if chunk.startswith("{") else "{{"
        inside, *after = CLOSING.split(chunk)
        pieces = [inside[len(opener) - 2 :]]
        openers.append(opener)
        levels.append(pieces)
        heights.append(0)
        for outside in after:
            is_third = outside.startswith("}")
            if openers:
                pieces, height = levels.pop(), heights.pop() + 1
                shown = None
                if openers.pop() == "{{" and height <= MAX_DEPTH:
                    shown = text_of(pieces)
                pieces = levels[-1]
                pieces.append(shown or CUT)
                if shown and height > heights[-1]:
                    heights[-1] = height
            else:
                pieces.append("}}}" if is_third else "}}")
            pieces.append(outside[is_third:])
    kept = levels[0]
    for opener, pieces in zip(openers, levels[1:], strict=True):
        kept.append(opener)
        kept += pieces
    return "".join(kept)


def text_of(pieces: list[str]) -> str | None:
    """Return the text shown by a template with this content; None if it is not known."""
    name = pieces[0].partition("|")[0].strip().lower().replace("_", " ")
    if name in SIGNS:
        return SIGNS[name]
    if name.startswith("formatnum:"):
        return "".join(pieces).partition(":")[2].partition("|")[0].strip()
    show = TEXTS.get("lang-" if name.startswith("lang-") else name)
    return show(name, arguments_of("".join(pieces))) if show else None


def arguments_of(inside: str) -> Arguments:
    """Return the arguments by name or number; bars inside links do not separate them."""
    arguments: Arguments = {}
    n_unnamed = 0
    for argument in split_at_bars(inside)[1:]:
        name, equals, value = argument.partition("=")
        if not equals:
            n_unnamed += 1
            name, value = str(n_unnamed), name
        arguments[name.strip()] = value.strip()
    return arguments


def split_at_bars(inside: str) -> list[str]:
    """Return the parts of a template; bars inside links do not separate them."""
    if "[[" not in inside:
        return inside.split("|")
    bars = [match.start() for match in LINK_OR_BAR.finditer(inside) if match["bar"]]
    return [
        inside[start + 1 : end]
        for start, end in zip([-1, *bars], [*bars, len(inside)], strict=True)
    ]


def either(*names: str) -> Show:
    """Return a function that gives the first of these arguments that is there."""
    return lambda _, arguments: next((arguments[n] for n in names if arguments.get(n)), None)


def quotation(_: str, arguments: Arguments) -> str | None:
    """Return a quotation as a paragraph, with a line for its author."""
    text = arguments.get("text") or arguments.get("quote") or arguments.get("1")
    if not text:
        return None
    by = [arguments.get(name, "") for name in ("author", "2", "sign", "title", "3", "source")]
    line = ", ".join(part for part in by if part)
    return f"\n\n{text}\n{'— ' + line if line else ''}\n\n"


def japanese(_: str, arguments: Arguments) -> str | None:
    """Return `English (日本語, rōmaji)`."""
    original = ", ".join(arguments[name] for name in ("2", "3") if arguments.get(name))
    english = arguments.get("1")
    return f"{english} ({original})" if english and original else english or original


def as_of(_: str, arguments: Arguments) -> str | None:
    """Return `As of May 2011`."""
    if alternative := arguments.get("alt"):
        return alternative
    if not (year := arguments.get("1")):
        return None
    month = arguments.get("2", "")
    if month.isdecimal() and 1 <= int(month[:3]) <= 12:
        month = MONTH[int(month[:3]) - 1]
    beginning = "Since" if arguments.get("since") else "As of"
    date = " ".join(part for part in (arguments.get("3"), month, year) if part)
    return f"{beginning.lower() if arguments.get('lc') else beginning} {date}"


def circa(_: str, arguments: Arguments) -> str | None:
    """Return `c. 600`."""
    years = [arguments[name] for name in ("1", "2") if arguments.get(name)]
    return " – ".join(f"c. {year}" for year in years)


def fraction(_: str, arguments: Arguments) -> str | None:
    """Return `1⁄2` or `3 1⁄2`."""
    parts = [arguments[name] for name in ("1", "2", "3") if arguments.get(name)]
    if len(parts) == 1:
        return f"1⁄{parts[0]}"
    return " ".join(["", *parts[:-2]]).strip() + " " * (len(parts) > 2) + "⁄".join(parts[-2:])


def measure(_: str, arguments: Arguments) -> str | None:
    """Return `160 acres`: the given measure without its conversion."""
    if "table" in arguments.get("disp", "") or not NUMBER.fullmatch(arguments.get("1", "")):
        return None
    shown, place = arguments["1"], 2
    while (between := BETWEEN.get(arguments.get(str(place), ""))) and place < 9:
        shown += between + arguments.get(str(place + 1), "")
        place += 2
    unit = arguments.get(str(place)) or arguments.get("u") or arguments.get("ul", "")
    shown += f" {UNITS.get(unit.lower(), unit)}"
    small, small_unit = arguments.get(str(place + 1), ""), arguments.get(str(place + 2), "")
    if NUMBER.fullmatch(small) and small_unit.isalpha():  # 6 feet 2 inches
        shown += f" {small} {UNITS.get(small_unit.lower(), small_unit)}"
    return shown


def ship(name: str, arguments: Arguments) -> str | None:
    """Return `HMS Victory`."""
    return f"{name.upper()} {arguments['1']}" if arguments.get("1") else None


def any_ship(_: str, arguments: Arguments) -> str | None:
    """Return `HMS Victory` from its parts."""
    return " ".join(arguments[name] for name in ("1", "2") if arguments.get(name))


def value(_: str, arguments: Arguments) -> str | None:
    """Return `5 kg`: a number and its unit, if given; None for a formula, a power of ten."""
    if "e" in arguments or not arguments.get("1"):
        return None
    unit = arguments.get("u") or arguments.get("ul", "")
    return f"{arguments['1']} {unit}".strip()


def named(names: str, show: Show) -> dict[str, Show]:
    """Return a table from the names of templates to the function that gives their text."""
    return {name.replace("_", " "): show for name in names.split()}


TEXTS = {
    **named(f"lang- {SHOW_THE_FIRST}", either("lt", "1", "text")),
    **named(SHOW_THE_SECOND, either("2", "text")),
    **named(SHOW_THE_LAST, either("3", "2")),
    **named(QUOTATIONS, quotation),
    **named("nihongo", japanese),
    **named("as_of asof", as_of),
    **named("circa c. ca.", circa),
    **named("frac fraction sfrac", fraction),
    **named("convert cvt", measure),
    **named(SHIPS, ship),
    **named("ship", any_ship),
    **named("val", value),
}
"""Function that gives the text of a template, by its name in lower case."""
