from xml.etree import ElementTree as ET

from docs.house_map import PACKAGES, house_drawing, house_page, rooms, write_drawing


def test_every_room_says_what_it_is_for_and_imports_point_down():
    found = rooms()
    assert [room.name for room in found if not room.purpose] == []
    assert {room.package for room in found} == set(PACKAGES)
    for room in found:
        place = PACKAGES.index(room.package)
        assert not room.imports & set(PACKAGES[:place]), room.path
        assert "downloader" not in room.imports or room.package in ("pipeline", "downloader")


def test_a_room_is_read_from_its_files(tmp_path):
    for package in PACKAGES:
        (tmp_path / package / "inner").mkdir(parents=True)
        (tmp_path / package / "__init__.py").write_text(f'"""Package {package}."""\n')
    inner = tmp_path / "models" / "inner"
    (inner / "__init__.py").write_text('"""Two | halves\nof a line.\n\nMore."""\n')
    (inner / "a.py").write_text("import os\nfrom corpora.b import c\nfrom numpy import d\n")
    (room,) = (each for each in rooms(tmp_path) if each.name == "inner")
    assert (room.purpose, room.n_files, room.n_lines) == ("Two | halves of a line.", 1, 7)
    assert room.imports == {"corpora"}
    page = house_page(rooms(tmp_path))
    assert r"| `models/inner/` | Two \| halves of a line. | 1 | 7 |" in page
    assert page.count("Imports none of the others.") == 4


def test_the_drawing_names_every_room(tmp_path):
    write_drawing(tmp_path)
    drawing = (tmp_path / "house.svg").read_text("utf-8")
    texts = [each.text for each in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]
    assert drawing == house_drawing(rooms())
    assert {room.name for room in rooms()} <= set(texts)
    assert "](house.svg)" in house_page(rooms())
