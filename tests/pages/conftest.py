"""A browser without a network, and pages opened in it from disk."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Error, Page, sync_playwright

from pipeline.report.page import render
from pipeline.report.sections import ShownDocument
from tests.pages.made_up_figures import drawn_figures, made_up_figures
from tests.pages.made_up_report import made_up_report

Documents, OpenPage = tuple[ShownDocument, ...], Callable[..., "Opened"]


def _chromium():
    named = os.environ.get("WIKITOPICS_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser():
    path = _chromium()
    if path is None:
        pytest.skip("no Chromium on the path; name one in $WIKITOPICS_CHROMIUM")
    with sync_playwright() as playwright:
        try:
            # Of root's processes Chromium refuses to make a sandbox.
            started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            if os.environ.get("WIKITOPICS_CHROMIUM"):
                raise  # who names it wants these tests
            pytest.skip(f"{path} does not start: {error.message.splitlines()[0]}")
        yield started
        started.close()


@dataclass
class Opened:
    """A page, and what it did while it was open."""

    page: Page
    address: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def assert_calm(self):
        assert (self.complaints, self.dialogs) == ([], [])
        assert set(self.requests) == {self.address}


@pytest.fixture
def open_page(browser, tmp_path):
    contexts = []

    def opened(html, place="", **settings):
        path = html
        if isinstance(html, str):
            path = tmp_path / f"page-{len(contexts)}.html"
            path.write_text(html, "utf-8")
        settings = {"viewport": {"width": 1280, "height": 900}} | settings
        context = browser.new_context(offline=True, **settings)
        contexts.append(context)
        context.set_default_timeout(15_000)
        page = context.new_page()
        result = Opened(page, path.as_uri())
        page.on("request", lambda request: result.requests.append(request.url.split("#")[0]))
        page.on("console", lambda message: result.complaints.append(message.text))
        page.on("pageerror", lambda error: result.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (result.dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(result.address + place)
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]")
        return result

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def report():
    return made_up_report()


@pytest.fixture(scope="session")
def html(report):
    return render(report, drawn_figures(report))


@pytest.fixture(scope="session")
def two_runs():
    return made_up_report(n_topics=5, n_words=300, n_documents=2, n_runs=2, words_a_document=60)


@pytest.fixture(scope="session")
def html_of_two(two_runs):
    return render(two_runs, made_up_figures(two_runs))


@pytest.fixture
def opened(open_page, html):
    return open_page(html)


@pytest.fixture
def page(opened):
    return opened.page


@pytest.fixture
def opened_two(open_page, html_of_two):
    return open_page(html_of_two)


@pytest.fixture
def page_of_two(opened_two):
    return opened_two.page


@pytest.fixture(scope="session")
def topics(report):
    return report.runs[0].topics


@pytest.fixture(scope="session")
def documents(report):
    return report.runs[0].documents.documents
