from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from wordcloud import WordCloud

from pipeline.report.word_clouds import HEIGHT, MAX_WORDS, MIN_FONT, WIDTH, word_cloud

TEXT = """
river lake mountain valley forest glacier island ocean desert canyon guitar piano violin opera
singer melody drummer concert orchestra album electron proton atom molecule photon neutron energy
particle nucleus laser solar_panel internationalisation jazz quay gypsum phylogeny ox ultraviolet
spectroscopy a_longish_phrase of_it more words than_there is_room_for
"""
WORDS = TEXT.split()
HOSTILE = (
    *("<script>alert(1)</script>", '"quoted"', "$x$", "\u202egnirts", "nul\0nul", "two\nlines"),
    *("\ud800", "", " ", "\u200b", "\u0301"),
    *("שלום", "مرحبا", "می‌خواهم", "東京", "한국어", "ภาษาไทย", "हिन्दी", "🦊"),
)


def falling(n, power=1.0):
    return [0.1 / (i + 1) ** power for i in range(n)]


def ink_of(cloud, *, narrow=False):
    """Number of words over each place; `narrow` words are pressed to their width in the cloud."""
    covered = np.zeros((HEIGHT + 200, WIDTH + 200), dtype=np.int64)
    for word in cloud:
        font = ImageFont.truetype(WordCloud().font_path, int(word.size))
        image = Image.new("L", covered.shape[::-1])
        # Around the middle of the image, to be turned there: "mm" is the middle of the line.
        middle = (image.width // 2, image.height // 2)
        ImageDraw.Draw(image).text(middle, word.word, fill=255, font=font, anchor="mm")
        if narrow:
            left, _, right, _ = font.getbbox(word.word)
            shrunk = image.width * word.width / (right - left)
            across, factor = middle[0] * (1 - shrunk / image.width), image.width / shrunk
            image = image.transform(
                image.size, Image.Transform.AFFINE, (factor, 0, -across * factor, 0, 1, 0)
            )
        if word.is_upright:
            image = image.rotate(90, center=middle)
        by = (round(word.y) + 100 - middle[1], round(word.x) + 100 - middle[0])
        covered += np.roll(np.asarray(image) > 128, by, axis=(0, 1))
    return covered


@pytest.mark.parametrize("seed", range(3))
def test_words_are_inside_and_apart(seed):
    cloud = word_cloud(WORDS, falling(len(WORDS)), seed)
    assert 25 <= len(cloud) <= MAX_WORDS  # words that would be too small to read are left out
    assert min(word.size for word in cloud) >= 10  # letters of 8 and more
    covered = ink_of(cloud)
    # Letters are rounded to the grid, which is two wide.
    on_each_other, all_ink = (covered > 1).sum(), (covered > 0).sum()
    assert all_ink > 0.12 * WIDTH * HEIGHT
    assert on_each_other < 0.002 * all_ink
    outside = covered.copy()
    outside[100 : 100 + HEIGHT, 100 : 100 + WIDTH] = 0
    assert not outside.any()
    # Nor do they if the letters are higher by a tenth, as those of the page's font may be.
    taller = ink_of(tuple(replace(word, size=1.1 * word.size) for word in cloud), narrow=True)
    assert (taller > 1).sum() < 0.002 * all_ink
    # Words of the cloud turned upside down lie on those of the cloud.
    turned = (replace(word, x=WIDTH - word.x, y=HEIGHT - word.y) for word in cloud[::2])
    assert (ink_of((*turned, *cloud[1::2])) > 1).sum() > 0.02 * all_ink


def test_probable_words_are_large_and_as_wide_as_the_font_says():
    cloud = word_cloud(WORDS, falling(len(WORDS)))
    assert [word.word for word in cloud] == WORDS[: len(cloud)]
    sizes = [word.size for word in cloud]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] >= 2 * sizes[-1] >= 4 * MIN_FONT
    assert {word.is_upright for word in cloud} == {False, True}
    assert word_cloud(WORDS, falling(len(WORDS), 2.0))[1].size < sizes[1]
    for word in word_cloud(WORDS, falling(len(WORDS))):
        # Of one width are all letters of the font.
        assert word.width == pytest.approx(0.6 * word.size * len(word.word), abs=0.12 * word.size)


def test_the_same_cloud_for_the_same_seed():
    one = word_cloud(WORDS[:40], falling(40))
    assert word_cloud(WORDS[:40], falling(40)) == one
    assert word_cloud(WORDS[:40], falling(40), seed=1) != one
    shuffled = np.random.default_rng(0).permutation(40)
    assert word_cloud([WORDS[i] for i in shuffled], [falling(40)[i] for i in shuffled]) == one


def test_any_script_and_no_word_that_shows_nothing():
    cloud = word_cloud(HOSTILE, falling(len(HOSTILE), 0.2))
    shown = {word.word for word in cloud}
    assert shown <= set(HOSTILE)
    assert {"東京", "한국어", "مرحبا", "می‌خواهم", "$x$"} <= shown
    assert shown.isdisjoint({"\ud800", "", " ", "\u200b"})
    assert all(word.width > 0 for word in cloud)


def test_words_that_are_too_long_few_or_none():
    cloud = word_cloud(["first", "x" * 500, *WORDS[:10]], falling(12, 0.1))
    assert [word.word for word in cloud] == ["first", *WORDS[:10]]
    (one,) = word_cloud(["alone"], [0.3])
    assert 0 < one.x - one.width / 2 < one.x + one.width / 2 < WIDTH or one.is_upright
    assert word_cloud([], []) == ()
    assert word_cloud(["never"], [0.0]) == ()
    assert [word.word for word in word_cloud(["a", "b"], [0.5, 0.0])] == ["a"]
