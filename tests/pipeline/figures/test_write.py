import re
import struct
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke

from pipeline.figures.style import INK, MARKERS, MUTED, PALETTE, PAPER, label, series_style
from pipeline.figures.write import Figure, page_svg, write_figures

ALLOWED = {"svg", "g", "path", "circle", "rect", "text", "use", "defs", "clipPath", "title", "desc"}


def draw(figure):
    figure.set_size_inches(2, 1)
    figure.subplots().plot([1, 2], [3, 4], label="a")


def a_figure(draw_on=draw, **more):
    return Figure("name", "A <title>", 'What "it" & others say', draw_on, **more)


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open = []
        self.found = []
        self.text = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def refuse(self, data):
        raise AssertionError(data)

    handle_comment = handle_decl = handle_pi = refuse


def elements_of(svg):
    found = Elements(svg)
    assert not found.open
    for tag, attributes in found.found:
        assert tag in {each.lower() for each in ALLOWED}, tag
        for name, value in attributes.items():
            assert not name.startswith("on"), name
            assert "javascript" not in value.lower() or tag == "text"
            assert "http" not in value
            assert "href" not in name or value.startswith("#")
            assert "url(" not in value or "url(#" in value
    ids = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    references = set(re.findall(r'(?:href="#|url\(#)([^")]*)', svg))
    assert references <= set(ids)
    return found


def test_equal_results_give_equal_files_of_the_size_that_a_figure_sets(tmp_path):
    names = [path.name for path in write_figures({"b": draw, "a": draw}, tmp_path)]
    assert names == ["b.svg", "b.png", "a.svg", "a.png"]
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert not list(tmp_path.glob(".*"))
    write_figures({"small": draw, "usual": lambda figure: figure.text(0, 0, "a")}, tmp_path)
    for name, inches in (("small", (2, 1)), ("usual", (10, 6))):
        head = (tmp_path / f"{name}.png").read_bytes()[16:24]
        assert struct.unpack(">II", head) == tuple(150 * each for each in inches)


def test_files_have_white_paper_and_pages_none(tmp_path):
    write_figures({"a": draw}, tmp_path)
    ground = re.compile(r'L 144 72 *\nL 144 0 *\nL 0 0 *\nz *\n" style="fill: #ffffff"')
    assert ground.search((tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert "M0 72" not in page_svg(a_figure(), "p")


def test_scripts_without_a_font_are_no_reason_to_warn(tmp_path, recwarn):
    def scripts(figure):
        figure.text(0.1, 0.5, "日本語 ไทย 한국어 \U0001e900")

    write_figures({"a": scripts}, tmp_path)
    assert "日本語" in page_svg(a_figure(scripts), "p")
    assert not list(recwarn)


def test_no_two_series_look_alike():
    series = [series_style(n) for n in range(24)]
    assert len({(each["color"], each["marker"]) for each in series}) == 24
    for name in ("color", "marker"):
        assert len({each[name] for each in series[: len(PALETTE)]}) == len(PALETTE)
    assert len(set(MARKERS)) == len(MARKERS)


def test_usual_lines_have_the_colours_and_marks_of_the_palette():
    lines = []

    def many(figure):
        axes = figure.subplots()
        lines.extend(axes.plot([0, 1], [n, n])[0] for n in range(10))

    page_svg(a_figure(many), "p")
    for n, line in enumerate(lines):
        assert {"color": line.get_color(), "marker": line.get_marker()} == series_style(n)


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_seen_on_white_paper():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert min(contrast(colour, PAPER) for colour in (INK, MUTED)) > 4.5  # text
    assert min(contrast(colour, PAPER) for colour in PALETTE[:3]) > 3  # marks


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *(("word", "word"), ("\u202eevil\u202c", "evil"), ("a\x00b\x07\nc", "a b c")),
        *(("half\ud800", "half"), ("\ufeffx\ufffe", "x"), ("a\u2028b", "a b")),
        *(("w" * 25, "w" * 23 + "…"), ("العربية", "العربية"), ("نمی\u200cدانم", "نمی\u200cدانم")),
        *(("$x_1$ <b>", "$x_1$ <b>"), ("", "")),
    ],
)
def test_labels(text, written):
    assert label(text) == written


def test_a_drawing_of_a_page():
    svg = page_svg(a_figure(), "run-0-x")
    found = elements_of(svg)
    (tag, attributes), *others = found.found
    assert (tag, attributes["viewbox"]) == ("svg", "0 0 144 72")
    assert attributes["role"] == "img"
    assert not {"width", "height"} & set(attributes)
    assert attributes["style"] == "width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt"
    assert attributes["aria-labelledby"] == "run-0-x-title run-0-x-desc"
    names = [(name, each.get("id")) for name, each in others[:2]]
    assert names == [("title", "run-0-x-title"), ("desc", "run-0-x-desc")]
    assert found.text[:2] == ["A <title>", 'What "it" & others say']
    assert all(each["id"].startswith("run-0-x-") for _, each in others if each.get("id"))
    assert f"fill:var(--ink,{INK})" in svg
    assert "font-family" not in svg
    assert "clip" not in svg
    assert ET.fromstring(svg).tag == "svg"
    assert page_svg(a_figure(), "run-0-x") == svg


def test_a_page_has_its_own_drawing_and_many_live_in_one():
    figure = a_figure(draw_page=lambda figure: figure.text(0.5, 0.5, "of the page"))
    assert "of the page" in page_svg(figure, "p")
    assert "of the page" not in page_svg(a_figure(), "p")
    elements_of("".join(page_svg(a_figure(), prefix) for prefix in ("a", "b")))


@pytest.mark.parametrize("prefix", ["", "1", 'a"b', "a b", "a<"])
def test_prefixes_are_names(prefix):
    with pytest.raises(ValueError, match="prefix must be a letter and then letters, digits"):
        page_svg(a_figure(), prefix)


def test_marks_are_groups_with_names():
    def marked(figure):
        axes = figure.subplots()
        for n in (3, 4):
            axes.plot([1, 2], [n, n])[0].set_gid(f"topic-{n}")

    svg = page_svg(a_figure(marked, marks={"topic-3": "Topic 3: <b>"}), "p")
    root = ET.fromstring(svg)
    assert root.get("role") == "group"
    groups = {each.get("data-gid"): each for each in root.iter("g") if each.get("data-gid")}
    titles = {name: each.findtext("title") for name, each in groups.items()}
    assert titles == {"topic-3": "Topic 3: <b>", "topic-4": "topic 4"}
    assert all(each.get("role") == "img" for each in groups.values())
    assert all(each.find("path") is not None for each in groups.values())
    elements_of(svg)


def test_hostile_text_is_text():
    hostile = ("<script>alert(1)</script>", "$x_1$", "]]>", "<!--", "\"'", "</text></svg>", "&amp;")

    def texts(figure):
        axes = figure.subplots()
        for n, text in enumerate(hostile):
            axes.text(0.1, n / 8, text, parse_math=False)
            axes.plot([0, 1], [0, 1], label=text)
            axes.set_xlabel("\u202e".join(hostile).replace("$", ""))

    svg = page_svg(a_figure(texts), "p")
    written = elements_of(svg).text
    assert set(hostile) <= set(written)
    assert svg.count("<script") == 0


def test_what_lies_outside_stays_clipped_and_what_lies_within_is_not():
    def beyond(figure):
        figure.set_layout_engine("none")
        figure.add_axes((0.2, 0.2, 0.6, 0.6), ylim=(3, 5)).plot([1, 2, 3], [3, 4, 99])

    svg = page_svg(a_figure(beyond), "p")
    assert "clip-path" in svg
    elements_of(svg)


def test_edged_text_stays_text():
    def edged(figure):
        effects = [withStroke(linewidth=2, foreground=PAPER)]
        figure.subplots().text(0.5, 0.5, "edged", path_effects=effects)

    svg = page_svg(a_figure(edged), "p")
    (text,) = (each for each in ET.fromstring(svg).iter("text") if each.text == "edged")
    assert "paint-order:stroke;stroke:var(--paper,#ffffff)" in text.attrib["style"]


def test_places_are_those_of_the_file(tmp_path):
    def circles(figure):
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 720), ylim=(0, 432), aspect="equal")
        axes.set_axis_off()
        axes.add_patch(Circle((100.123, 200.456), 33.333))
        axes.plot([10.11, 700.77], [20.22, 400.44], marker="", linewidth=1)

    root = ET.fromstring(page_svg(a_figure(circles), "p"))
    (circle,) = root.iter("circle")
    found = [float(circle.attrib[name]) for name in ("cx", "cy", "r")]
    assert found == pytest.approx([100.123, 432 - 200.456, 33.333], abs=0.11)
    (path,) = root.iter("path")
    assert path.attrib["d"] == "M10.1 411.8 700.8 31.6"
