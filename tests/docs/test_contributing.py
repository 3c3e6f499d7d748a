import re

from tests.docs.markdown_links import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_every_path_and_every_target_of_make_exists():
    named = {name for name in re.findall(r"`([\w./-]+)`", TEXT) if "/" in name}
    assert len(named) > 30
    assert [name for name in named if "FAMILY" not in name and not (ROOT / name).exists()] == []
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for line in re.findall(r"\bmake ([a-z -]+)", TEXT):
        for target in line.split():
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
