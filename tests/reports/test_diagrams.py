"""The diagrams of Markdown reports, drawn by the real Mermaid in a real browser."""

from __future__ import annotations

import re

import pytest

from mcp_wire.reports.forms import FORMS
from tests.reports import hostile
from tests.reports.judged import case_transcripts, results_of
from tests.web.browser import Watched, chromium
from tests.web.tools import package_file

pytestmark = pytest.mark.browser


def diagrams(text: str) -> list[str]:
    return re.findall(r"^```mermaid\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)


def test_mermaid_draws_every_diagram_and_nothing_in_it_is_markup() -> None:
    texts = [
        text
        for _, transcript in case_transcripts()
        for text in diagrams(FORMS["markdown"].render(results_of(transcript)))
    ]
    [attack] = diagrams(FORMS["markdown"].render(results_of(hostile.transcript())))
    assert len(texts) > 100
    with chromium() as browser:
        watched = Watched(browser.new_page())
        page = watched.page
        page.goto("about:blank")
        page.add_script_tag(path=package_file("mermaid/dist/mermaid.min.js"))
        page.evaluate("mermaid.initialize({ startOnLoad: false, securityLevel: 'strict' })")
        for number, text in enumerate(texts):
            drawn = page.evaluate(
                "([id, text]) => mermaid.render(id, text).then((one) => one.svg)", [f"d{number}", text]
            )
            assert drawn.count("messageText") >= text.count(">>")
        drawn = page.evaluate("(text) => mermaid.render('attack', text).then((one) => one.svg)", attack)
        page.evaluate("(svg) => { document.body.innerHTML = svg }", drawn)
        assert page.locator("body :is(script, img, a, iframe, foreignObject)").count() == 0
        assert page.locator("text=Client").count() > 0 and page.locator("text=participant X").count() <= 1
        assert watched.said == []
        assert watched.requests == ["about:blank"] or watched.requests == []
