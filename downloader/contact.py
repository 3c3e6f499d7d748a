"""User-Agent header, with a contact of the user who runs the program.

The User-Agent policy of the Wikimedia Foundation asks for `client/version (contact)
library/version`. Since 2026 a client with a contact may send 200 requests a minute, others 10. The
word "bot" tells their statistics that a program sends the requests.
"""

import re
from importlib.metadata import PackageNotFoundError, version

import requests

from downloader.errors import ContactError
from downloader.service import host_of, is_wikimedia

MAX_LENGTH = 200

WHAT_TO_GIVE = (
    "give your e-mail address, a web page of yours or your wiki user page (User:…) with --contact:"
    " it goes into the User-Agent header, so that the operators of the wiki can reach you"
)

_EMAIL = re.compile(r"(?:mailto:)?[^@\s()<>,;]+@([^@\s()<>,;/]+)", re.IGNORECASE)
_USER_PAGE = re.compile(
    r"(?:\[\[)?:?(?:[a-z-]+:){0,2}user(?:[ _]talk)?:[^\[\]{}|<>#]+(?:\]\])?", re.IGNORECASE
)
_DOMAIN = re.compile(r"(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]+", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"(?:.+\.)?(?:example\.[a-z.]+|example|test|invalid|localhost|your\.domain)", re.IGNORECASE
)


def check_contact(contact: str, url: str) -> None:
    """Check that the operators of the server at `url` can use `contact`.

    Hosts of the Wikimedia Foundation need a contact; for others it may be empty.

    Raises ContactError if it is missing where it is needed, malformed, or an address from the
    documentation.
    """
    if not contact.strip():
        if is_wikimedia(url):
            raise ContactError(f"{host_of(url)} needs a contact: {WHAT_TO_GIVE}")
        return
    _raise(contact, _header_fault(contact) or _address_fault(contact.strip()))


def user_agent(contact: str) -> str:
    """Return the User-Agent header with `contact`, which may be empty.

    Raises ContactError if a header cannot hold it.
    """
    contact = contact.strip()
    _raise(contact, _header_fault(contact))
    try:
        ours = version("wikitopics")
    except PackageNotFoundError:
        ours = "0"
    comment = f"bot; {contact}" if contact else "bot"
    return f"wikitopics/{ours} ({comment}) requests/{requests.__version__}"


def _raise(contact: str, fault: str) -> None:
    if fault:
        shown = ascii(contact[:80] + "…" if len(contact) > 80 else contact)
        raise ContactError(f"the contact {shown} {fault}; {WHAT_TO_GIVE}")


def _header_fault(contact: str) -> str:
    """Return why a header cannot hold `contact`; empty if it can."""
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in contact):
        return "has a control character or a line break"
    if not contact.isascii():
        return "has characters beyond ASCII, which no header can hold (encode them: %C3%A9, xn--…)"
    return f"is longer than {MAX_LENGTH} characters" if len(contact) > MAX_LENGTH else ""


def _address_fault(contact: str) -> str:
    """Return why `contact` is no usable address; empty if it is one."""
    if _USER_PAGE.fullmatch(contact):
        return ""
    if re.match(r"https?://", contact, re.IGNORECASE):
        if "@" in contact.partition("//")[2].partition("/")[0]:
            return "has a user name or password, which everyone could read"
        host = "" if re.search(r"[\s<>]", contact) else host_of(contact)
    else:
        email = _EMAIL.fullmatch(contact)
        host = email[1] if email else ""
    if _EXAMPLE.fullmatch(host):
        return "is an example"
    return "" if _DOMAIN.fullmatch(host) else "is no e-mail address, web address or user page"
