import importlib
import re
import shlex
from dataclasses import fields

import pytest

from docs import reference_pages
from docs.plain_docstrings import escaped, plain_docstring
from docs.reference_pages import (
    PYTHON,
    command_page,
    commands,
    page_makers,
    public_names,
    python_page,
    sentence,
    settings_classes,
    settings_of,
    settings_page,
    write_pages,
)
from pipeline.errors import exit_code_of
from pipeline.setting_sources import SECTIONS
from pipeline.settings import NOT_SHARED, choices_of
from tests.docs.markdown_links import DOCS, ROOT, pages

SETTINGS = [
    (table, field.name) for table, kind in settings_classes().items() for field in fields(kind)
]
COMMAND = re.compile(r"^ {4,}(?:\$ )?(?:echo .* \| )?python -m pipeline (\w.*)$", re.MULTILINE)


def page_of(command):
    return command_page(command, commands()[command])


@pytest.mark.parametrize("command", SECTIONS)
def test_every_setting_is_in_its_commands_page_and_in_the_table_of_all(command):
    page = page_of(command)
    _, _, table = settings_page().partition(f"## `[{command}]`")
    table, _, _ = table.partition("## ")
    for each in fields(settings_classes()[command]):
        option, variable = "--" + each.name.replace("_", "-"), f"`WIKITOPICS_{each.name.upper()}`"
        if each.metadata["is_positional"]:
            option = each.metadata["metavar"]
        (entry,) = re.findall(
            rf"````{{option}} (?:-\w[^`\n]*, )?{option}(?: [^\n]*)?\n(.*?)````", page, re.DOTALL
        )
        is_in_environment = not each.metadata["names_input"]
        assert f"`{each.name}` in `[{command}]`" in entry
        assert (variable in entry) == is_in_environment
        assert f"| `{each.name}` | {variable if is_in_environment else '-'} |" in table
        assert all(f"`{choice}`" in entry for choice in choices_of(each))
        assert all(f"`{one}`" in entry for one in each.metadata["of"])
        if isinstance(each.default, int | float) or each.default:
            shown = str(each.default).lower() if each.default is False else f"`{each.default}`"
            assert f"Default: {shown}." in entry


def test_select_has_its_own_settings_and_those_of_its_runs():
    found = {(each.table, each.field.name) for each in settings_of("select")}
    own = {("select", name) for table, name in SETTINGS if table == "select"}
    own_names = {name for _, name in own}
    runs = {("train", name) for table, name in SETTINGS if table == "train"}
    assert found == own | {
        each for each in runs if each[1] not in NOT_SHARED and each[1] not in own_names
    }


def test_a_table_without_settings_class_is_an_error(monkeypatch):
    monkeypatch.setattr(reference_pages, "SECTIONS", (*SECTIONS, "nonesuch"))
    with pytest.raises(LookupError, match="NonesuchSettings"):
        settings_classes()


def test_every_command_has_a_page_with_its_arguments_and_options():
    for name, parser in commands().items():
        assert f"commands/{name}" in page_makers()
        page = page_of(name)
        shown = re.findall(r"^````\{option\} (.*)$", page, re.MULTILINE)
        for action in parser._actions:
            if action.help != "==SUPPRESS==" and action.dest != "help":
                wanted = action.option_strings or [str(action.metavar)]
                assert any(set(wanted) <= set(re.split(r",? ", each)) for each in shown), wanted
        assert "SUPPRESS" not in page
    assert "--detached" not in page_of("download")


@pytest.mark.parametrize("package", PYTHON)
def test_every_public_name_is_in_the_pages_on_python(package):
    page = python_page(package)
    for module in PYTHON[package][1]:
        for name in public_names(module):
            assert re.search(
                rf"(?:auto\w+|py:data):: {re.escape(module)}\.{name}$", page, re.MULTILINE
            )
    wanted = getattr(importlib.import_module(package), "__all__", ())
    assert set(wanted) <= set(re.findall(rf":: {package}\.(\w+)$", page, re.MULTILINE))


def test_pages_that_are_not_made_any_more_go_and_others_stay_as_they_are(tmp_path, monkeypatch):
    makers = {"commands/a": lambda: "# a\n", "python/b": lambda: "b"}
    monkeypatch.setattr(reference_pages, "page_makers", lambda: makers)
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands" / "old.md").write_text("old")
    (tmp_path / "files.md").write_text("written")
    (tmp_path / "commands" / "a.md").write_text("# a\n")
    before = (tmp_path / "commands" / "a.md").stat().st_mtime_ns
    write_pages(tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.md")) == [
        *("commands/a.md", "files.md", "python/b.md")
    ]
    assert (tmp_path / "commands" / "a.md").stat().st_mtime_ns == before
    assert (tmp_path / "python" / "b.md").read_text() == "b"


def test_help_texts_and_docstrings_become_markup():
    assert sentence("steps that --certify takes") == "Steps that `--certify` takes."
    assert sentence("of `a_b` and c_d, <x>*") == r"Of `a_b` and c\_d, \<x\>\*."
    assert sentence("one a core; -1: all") == "One a core; -1: all."
    assert escaped("topics_ are λ |φ|, a * b") == r"topics\_ are λ \|φ\|, a \* b"
    assert escaped("code `a_ * b` and\n* item") == "code ``a_ * b`` and\n* item"
    assert escaped("n_topics : int\n    K.") == "n_topics : int\n    K\\."
    assert escaped("topics_ : array (K, V) of x_") == r"topics_ : array (K, V) of x\_"
    lines = ['"sequence": of the tokens']
    plain_docstring(None, "attribute", "", None, None, lines)
    assert lines == ["", '"sequence": of the tokens']


def test_exit_codes_are_those_of_the_code():
    text = (DOCS / "reference" / "exit-codes.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[\w.`, ]+`) \| (\d+) \|$", text, re.MULTILINE)
    told = {name: int(code) for names, code in rows for name in re.findall(r"`([\w.]+)`", names)}
    assert len(told) > 10
    for name, code in told.items():
        module, _, kind = name.rpartition(".")
        error = getattr(importlib.import_module(module), kind)
        assert exit_code_of(error.__new__(error)) == code, name


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_the_docs_exist_and_so_do_their_options(path):
    for line in COMMAND.findall(path.read_text("utf-8")):
        name, *words = shlex.split(re.sub(r"[\[\]]", "", line), comments=True)
        if name == "COMMAND":
            continue
        assert name in commands(), line
        known = commands()[name]._option_string_actions
        given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
        assert set(given) <= set(known), line
