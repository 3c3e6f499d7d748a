"""Who we say we are.

The User-Agent policy of the Wikimedia Foundation asks for `client/version (contact)
library/version`, with a contact of whoever runs the client; its maker's is not enough. Since
2026 requests that name such a contact may come 200 times a minute, others 10 times. The word
"bot" tells their statistics that a program is asking.
"""

from __future__ import annotations

import ipaddress
import re
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import urlsplit

import requests

from downloader.errors import ContactError
from downloader.wikimedia import host_of, is_wikimedia

__all__ = ["check_contact", "is_wikimedia", "user_agent"]

MAX_LENGTH = 200

WHAT_TO_GIVE = (
    "give your e-mail address, a web page of yours or your wiki user page (User:…) with --contact:"
    " it goes into the User-Agent header, so that the people who run the wiki can reach you before"
    " they block you"
)

_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)+(?:[a-z]{{2,63}}|xn--[a-z0-9-]+)")
_EMAIL = re.compile(r"(?:mailto:)?([a-z0-9!#$%&'*+/=?^_`{|}~.-]+)@(\S+)", re.IGNORECASE)
_USER_PAGE = re.compile(
    r"(\[\[)?:?(?:[a-z][a-z-]*:){0,2}user(?:[ _]talk)?:\s*([^\[\]{}|<>#]+)(\]\])?", re.IGNORECASE
)
_RESERVED = re.compile(
    r"(?:.+\.)?(?:example\.[a-z.]+|example|test|invalid|localhost|local|localdomain|internal|onion)"
)
_MADE_UP_DOMAIN = re.compile(
    r"(?:.+\.)?(?:your[a-z0-9-]*|my-?(?:domain|site|website|company|server|host"
    r"|e?mail|org|app|project)|some(?:domain|where|site)|domain|website|site|host(?:name)?"
    r"|company|organi[sz]ation|foo|bar|baz|foobar|test|sample|placeholder|address)\.[a-z]+"
)
_MADE_UP_NAME = re.compile(
    r"you|your(?:[._-].*|(?:e-?mail|user|name|address|contact|id|self).*)?"
    r"|my[._-]?(?:e-?mail|name|address)|user[._-]?name|first[._-]?last"
    r"|first[._-]?name([._-]?last[._-]?name)?|j(?:ohn|ane)[._-]?doe|some(?:one|body)|nobody"
    r"|(?:no|do[._-]?not)[._-]?reply|foo|bar|baz|foo[._-]?bar|change[._-]?me|placeholder|example"
)
_MADE_UP_AT_A_PROVIDER = re.compile(
    r"(?:e-?mail|name|user|me|address|contact|test)@(?:e?mail|gmail|outlook|hotmail|yahoo|host)\.com"
)
_MADE_UP_USER = re.compile(
    r"example|name|me|user|you|user[ _]?name|your[ _]?(?:user)?[ _]?name|…|\.\.\."
)
_NEEDS_A_PATH = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org")


def check_contact(contact: str, url: str) -> None:
    """Make sure that whoever runs the server at `url` can reach us by `contact`.

    Hosts of the Wikimedia Foundation need one; for others it may be empty, but not malformed.

    Raises
    ------
    ContactError
        If it is missing where it is needed, malformed, or the address of an example.
    """
    if not contact.strip():
        if is_wikimedia(url):
            raise ContactError(f"{host_of(url)} needs to know who is asking: {WHAT_TO_GIVE}")
        return
    fault = _fault(contact)
    if fault:
        raise ContactError(f"the contact {_shown(contact)} {fault}; {WHAT_TO_GIVE}")


def user_agent(contact: str) -> str:
    """The User-Agent header for an operator who is reached by `contact`, which may be empty."""
    contact = contact.strip()
    fault = _unfit_for_a_header(contact)
    if fault:
        raise ContactError(f"the contact {_shown(contact)} {fault}; {WHAT_TO_GIVE}")
    try:
        ours = version("wikitopics")
    except PackageNotFoundError:
        ours = "0"
    comment = f"bot; {contact}" if contact else "bot"
    return f"wikitopics/{ours} ({comment}) requests/{requests.__version__}"


def _shown(contact: str) -> str:
    return ascii(contact[:80] + "…" if len(contact) > 80 else contact)


def _unfit_for_a_header(contact: str) -> str:
    """Why `contact` cannot stand in a header, or nothing."""
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in contact):
        return "holds a control character or a line break"
    if not contact.isascii():
        return "holds letters beyond ASCII, which no header can carry (encode them: %C3%A9, xn--…)"
    if len(contact) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    return ""


def _fault(contact: str) -> str:
    """What is wrong with `contact`, or nothing."""
    fault = _unfit_for_a_header(contact)
    if fault:
        return fault
    contact = contact.strip()
    if re.match(r"https?:", contact, re.IGNORECASE):
        return _url_fault(contact)
    if email := _EMAIL.fullmatch(contact):
        return _email_fault(email[1].lower(), email[2].lower())
    if page := _USER_PAGE.fullmatch(contact):
        if bool(page[1]) != bool(page[3]):
            return "opens or closes only half of its brackets"
        made_up = _MADE_UP_USER.fullmatch(page[2].strip().lower())
        return "is a placeholder" if made_up else ""
    return "is neither an e-mail address nor a web address nor a user page"


def _email_fault(name: str, domain: str) -> str:
    if name.startswith(".") or name.endswith(".") or ".." in name or len(name) > 64:
        return "is no well-formed e-mail address"
    fault = _domain_fault(domain)
    if fault:
        return fault
    if _MADE_UP_NAME.fullmatch(name) or _MADE_UP_AT_A_PROVIDER.fullmatch(f"{name}@{domain}"):
        return "is a placeholder or an address that nobody reads"
    return ""


def _url_fault(url: str) -> str:
    malformed = "is no well-formed web address"
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return malformed
    if not host or re.search(r"[\s\"<>\\^`{|}]", url) or not url.lower().startswith("http"):
        return malformed
    if "@" in parts.netloc:
        return "holds a user name or password, which everyone could read"
    if parts.path.strip("/") == "" and (is_wikimedia(url) or host in _NEEDS_A_PATH):
        return "does not lead to a page of yours"
    try:
        return "" if ipaddress.ip_address(host).is_global else "cannot be reached from outside"
    except ValueError:
        return _domain_fault(host)


def _domain_fault(domain: str) -> str:
    if _RESERVED.fullmatch(domain):
        return "is an example or leads nowhere"
    if len(domain) > 253 or not _DOMAIN.fullmatch(domain):
        return "has no well-formed domain"
    if _MADE_UP_DOMAIN.fullmatch(domain):
        return "is a placeholder"
    return ""
