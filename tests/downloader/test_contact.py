import contextlib
import re

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from downloader.contact import check_contact, is_wikimedia, user_agent
from downloader.errors import ContactError

WIKIPEDIA = "https://en.wikipedia.org/w/api.php"
ELSEWHERE = "http://127.0.0.1:8080/api.php"

GOOD = [
    *("ada@lovelace.org.uk", "  a.b+wiki@mail.uni-muenchen.de ", "mailto:ada@lovelace.org.uk"),
    *("o'neill@maths.ie", "ada@xn--mnchen-3ya.de", "https://lovelace.org.uk"),
    *("http://people.uni.edu/~ada/contact.html", "https://en.wikipedia.org/wiki/User:Ada_(WMF)"),
    *("User:Ada", "User talk:Ada Lovelace", "[[m:User:Ada]]"),
]

BAD = [
    *("ada", "ada@", "@lovelace.org.uk", "ada@lovelace", "ada@@lovelace.org.uk", "-", "none"),
    *("ada@lovelace..org", "ada@lovelace.1", "ada@127.0.0.1", "ada@[127.0.0.1]"),
    *("ada lovelace@lovelace.org.uk", "ada@lovelace.org.uk please", "<ada@lovelace.org.uk>"),
    *("ada@lovelace.org.uk\nX-Evil: 1", "ada@lovelace.org.uk\r", "ada@lovelace.org.uk\n"),
    *("ada@lovelace.org.uk\0", "ada\t@lovelace.org.uk", "ada@lovelace.org.uk\x85"),
    *("ada@lovelace.org.uk\u2028", "adä@lovelace.org.uk", "https://münchen.de/kontakt"),
    "a" * 189 + "@lovelace.org",
    *("you@example.com", "ada@EXAMPLE.NET", "ada@mail.example.com", "ada@example.co.uk"),
    *("ada@something.example", "ada@my.test", "ada@nowhere.invalid", "ada@localhost"),
    *("you@your.domain", "https://www.example.com", "http://localhost/contact"),
    *("http://127.0.0.1/contact", "http://[::1]/", "https://intranet/ada", "https://"),
    *("https://ada:secret@lovelace.org.uk/", "https:///contact", "http:lovelace.org.uk"),
    *("ftp://lovelace.org.uk/", "https://[lovelace/", "https://lovelace.org.uk/my page"),
    *("<your e-mail>", "User:", "User:<name>"),
]


@pytest.mark.parametrize("contact", GOOD)
def test_whoever_can_be_reached_may_ask(contact):
    check_contact(contact, WIKIPEDIA)
    check_contact(contact, ELSEWHERE)


@pytest.mark.parametrize("contact", BAD)
def test_examples_and_malformed_addresses_are_refused_everywhere(contact):
    for url in (WIKIPEDIA, ELSEWHERE):
        with pytest.raises(ContactError, match="--contact") as caught:
            check_contact(contact, url)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize("contact", ["", " ", "\n"])
def test_wikimedia_needs_a_contact_and_others_do_not(contact):
    with pytest.raises(ContactError, match=r"en\.wikipedia\.org.*--contact"):
        check_contact(contact, WIKIPEDIA)
    check_contact(contact, ELSEWHERE)


@pytest.mark.parametrize(
    "url",
    [
        *("https://en.wikipedia.org/w/api.php", "https://wikipedia.org"),
        *("http://EN.WIKIPEDIA.ORG:80/w/api.php", "https://en.wikipedia.org./w/api.php"),
        *("https://de.wiktionary.org/", "https://fr.wikibooks.org/", "https://it.wikiquote.org/"),
        *(
            "https://en.wikisource.org/",
            "https://en.wikiversity.org/",
            "https://en.wikivoyage.org/",
        ),
        *(
            "https://en.wikinews.org/",
            "https://www.wikidata.org/",
            "https://commons.wikimedia.org/",
        ),
        *("https://dumps.wikimedia.org/other/cirrussearch/", "https://www.wikifunctions.org/"),
        "https://www.mediawiki.org/w/api.php",
    ],
)
def test_hosts_of_wikimedia_are_known(url):
    assert is_wikimedia(url)


@pytest.mark.parametrize(
    "url",
    [
        *("https://wikipedia.org.evil.net/", "https://notwikipedia.org/", "https://[broken/", ""),
        *("https://evil.net/wikipedia.org", "https://wikipedia.org@evil.net/"),
        "https://wiki.archlinux.org/api.php",
    ],
)
def test_others_are_not(url):
    assert not is_wikimedia(url)


@pytest.mark.parametrize("name", ["your", "User:", "https://", "a.", "a-", "[["])
def test_no_contact_takes_long_to_judge(name):
    for contact in (name + "a" * 190 + "!", name * 40 + "@" + name * 40, "a@" + "a-" * 99 + "."):
        with contextlib.suppress(ContactError):  # and not a second
            check_contact(contact[:200], WIKIPEDIA)


def test_the_user_agent_names_program_operator_and_library():
    found = user_agent(" ada@lovelace.org.uk ")
    form = r"wikitopics/[0-9][\w.]* \(bot; ada@lovelace\.org\.uk\) requests/(\S+)"
    match = re.fullmatch(form, found)
    assert match
    assert match[1] == requests.__version__
    assert re.fullmatch(r"wikitopics/\S+ \(bot\) requests/\S+", user_agent(""))


@given(st.text(max_size=300))
def test_nothing_gets_into_the_header_but_one_printable_line(contact):
    try:
        header = user_agent(contact)
    except ContactError:
        return
    assert header.isascii()
    assert header.isprintable()


@given(st.text(max_size=300) | st.from_regex(r"\S+@\S+\.[a-z]+|https?://\S+|User:.+"))
def test_any_contact_is_accepted_or_refused_by_name(contact):
    try:
        check_contact(contact, WIKIPEDIA)
    except ContactError:
        return
    assert user_agent(contact).isprintable()
