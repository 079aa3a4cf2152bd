"""One sign-in for maintainers, the words with which they close a report, and the keys."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from html_page import Page, faults
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as BrowserPage
from running_web import Web
from stage import result

from app.http.access import SIGN_IN_COOKIE
from app.ids import new_id
from app.runs.maintenance.tokens import Scope, create, list_tokens, revoke
from app.runs.run_object.answer.disposition_part import DISPOSITIONS
from app.states import Disposition, MaintainersWord
from app.web.routes.sign_in import _ours


def reported(web: Web, text: str = "raise RuntimeError('boom')\n") -> str:
    """The path of a report whose run has finished."""
    web.stage.node("n")
    answer = web.client.post("/api/v1/runs", json={"script": text, "claim": "RuntimeError: boom"})
    while attempts := web.stage.dispatch():
        for attempt in attempts:
            web.stage.say(result(attempt, node="n"))
    return f"/reports/{answer.json()['report']['id']}"


def token(web: Web, scope: Scope = Scope.MAINTAIN, name: str = "ada") -> str:
    with web.stage.session() as session:
        return create(session, name=name, scopes=[scope]).secret


def sign_in(web: Web, secret: str, **more: str) -> str:
    """The whole Set-Cookie of a sign-in."""
    answer = web.client.post(
        "/sign-in", data={"token": secret, "next": "/nodes"}, headers=more, follow_redirects=False
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/nodes")
    return str(answer.headers["set-cookie"])


def close(web: Web, report: str, origin: str | None = None, **values: str) -> int:
    headers = {"Origin": web.url if origin is None else origin} if origin != "" else {}
    data = {"disposition": "by_design", **values}
    return int(
        web.client.post(f"{report}/close", data=data, headers=headers, follow_redirects=False).status_code
    )


def test_a_token_becomes_a_cookie_and_every_form_works_with_it(web: Web) -> None:
    report, secret = reported(web), token(web)
    assert close(web, report) == 401
    cookie = sign_in(web, secret)
    words = {word.strip() for word in cookie.split(";")}
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= words
    assert "Secure" not in words
    assert secret not in cookie
    page = Page(web.client.get(report).text)
    assert page.all("form", action=f"{report}/close")
    assert "signed in as ada" in page.text
    assert close(web, report) == 303
    assert web.client.get(f"/api/v1{report}").json()["disposition"]["who"] == "ada"


def test_behind_https_the_cookie_stays_there(web: Web) -> None:
    headers = {"Origin": web.url.replace("http:", "https:")}
    assert "Secure" in sign_in(web, token(web), **headers)


def test_the_cookie_counts_only_in_forms_of_our_own_pages(web: Web) -> None:
    report = reported(web)
    sign_in(web, token(web))
    assert close(web, report, "https://evil.example") == 403
    # A form without any sign of its page, as an old browser may send it from elsewhere.
    assert close(web, report, "") == 401
    body = {"reason": "x"}
    answer = web.client.post(f"/api/v1{report}/close", json=body, headers={"Origin": web.url})
    assert answer.status_code == 401
    assert web.client.get(f"/api/v1{report}").json()["acts"] == []


def test_signing_out_and_revoking_end_it_and_a_kept_cookie_is_worth_nothing(web: Web) -> None:
    report, secret = reported(web), token(web)
    sign_in(web, secret)
    old = web.client.cookies[SIGN_IN_COOKIE]
    assert "You are signed in as ada" in Page(web.client.get("/sign-in").text).text
    web.client.post("/sign-out", follow_redirects=False)
    assert SIGN_IN_COOKIE not in web.client.cookies
    web.client.cookies.set(SIGN_IN_COOKIE, old)
    assert close(web, report) == 401
    web.client.cookies.clear()
    sign_in(web, secret)
    with web.stage.session() as session:
        [row] = list_tokens(session)
        revoke(session, row.id)
        # Another token exists, so a visitor of this machine is still no maintainer.
        create(session, name="eve", scopes=[Scope.READ])
    assert close(web, report) == 401


def test_a_token_without_the_scope_signs_in_and_acts_on_nothing(web: Web) -> None:
    report = reported(web)
    sign_in(web, token(web, Scope.SUBMIT))
    assert close(web, report) == 403
    assert Page(web.client.get(report).text).all("form", action=f"{report}/close") == []
    refused = web.client.post("/sign-in", data={"token": "samehere_x"})
    assert (refused.status_code, "This token is not valid." in refused.text) == (401, True)


def test_who_is_signed_in_goes_on_to_the_next_page(web: Web) -> None:
    asked = "/sign-in?next=/reports"
    assert web.client.get(asked, follow_redirects=False).status_code == 200
    sign_in(web, token(web))
    assert web.client.get(asked, follow_redirects=False).headers["location"] == "/reports"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/reports/x", "/reports/x"),
        *(
            (bad, "/")
            for bad in ("//evil.example", "/\\evil.example", "https://evil.example", "/\t/e", "", "x")
        ),
    ],
)
def test_the_next_page_is_one_of_ours(path: str, expected: str) -> None:
    assert _ours(path) == expected


def test_no_visitor_sees_a_field_for_a_password(web: Web) -> None:
    report = reported(web)
    token(web)
    run = web.client.get(f"/api/v1{report}").json()["runs"][0]["id"]
    for path in ("/", report, f"/runs/{run}", "/nodes", "/reports", "/changes", f"{report}/judge-again"):
        source = web.client.get(path).text
        assert list(faults(source)) == [], path
        assert Page(source).all("input", type="password") == [], path
        assert Page(source).all("form", action=f"{report}/close") == [], path
    assert Page(web.client.get(report).text).all("a", href=f"/sign-in?next={report}")
    source = web.client.get("/sign-in").text
    assert list(faults(source)) == []
    assert len(Page(source).all("input", type="password")) == 1


@pytest.mark.parametrize("word", get_args(Disposition))
def test_a_report_is_closed_with_one_word_and_the_reporter_gets_a_reply(web: Web, word: str) -> None:
    report = reported(web)
    other = reported(web, "raise RuntimeError('boom', 2)\n")
    more = {
        "duplicate": {"duplicate_of": f"{web.url}{other}/"},
        "fixed": {"fixed_by": "numpy 2.4.1"},
    }.get(word, {})
    answer = web.client.post(
        f"{report}/close",
        data={"disposition": word, **more},
        follow_redirects=True,
        headers={"Origin": web.url},
    )
    assert answer.status_code == 200
    assert list(faults(answer.text)) == []
    page, words = Page(answer.text), DISPOSITIONS[word]  # type: ignore[index]
    assert words.sentence in page.text
    lines = page.one("textarea", id="reply-text").text.strip().splitlines()
    assert len(lines) == 3
    starts = {"duplicate": f"**Duplicate of {web.url}{other}.**", "fixed": "**Fixed by numpy 2.4.1.**"}
    assert lines[0] == f"{starts.get(word, f'**{words.name}.**')} {words.sentence}"
    assert lines[1].startswith("Measured: ")
    assert lines[2].startswith(f"Evidence: {web.url}{report} (closed by someone on this machine, ")
    assert words.name.lower() in Page(web.client.get("/reports").text).text
    stored = web.client.get(f"/api/v1{report}").json()
    assert (stored["disposition"]["word"], stored["closed_at"] is not None) == (word, True)
    assert web.client.get(f"/api/v1{report}/reply").json()["markdown"].splitlines() == lines
    web.client.post(f"/api/v1{report}/reopen", json={"reason": "x"})
    assert web.client.get(f"/api/v1{report}").json()["disposition"] is None
    assert web.client.get(f"/api/v1{report}/reply").status_code == 404


def test_a_maintainer_confirms_a_bug_and_it_stays_open(web: Web) -> None:
    report = reported(web)
    here, words = {"Origin": web.url}, DISPOSITIONS["confirmed"]
    assert Page(web.client.get(report).text).one("form", action=f"{report}/confirm")
    answer = web.client.post(f"{report}/confirm", data={}, follow_redirects=True, headers=here)
    assert answer.status_code == 200
    assert list(faults(answer.text)) == []
    page = Page(answer.text)
    assert page.one("title").text.startswith("Confirmed bug · ")
    assert "● confirmed bug" in " ".join(page.one("p", **{"class": "word"}).text.split())
    card = " ".join(page.one("section", id="verdict").text.split())
    assert f"Confirmed bug, decided by someone on this machine. {words.sentence}" in card
    lines = page.one("textarea", id="reply-text").text.strip().splitlines()
    assert lines[0] == f"**Confirmed bug.** {words.sentence}"
    assert lines[2].startswith(f"Evidence: {web.url}{report} (confirmed by someone on this machine, ")
    stored = web.client.get(f"/api/v1{report}").json()
    assert (stored["confirmed"]["word"], stored["closed_at"], stored["disposition"]) == (
        "confirmed",
        None,
        None,
    )
    assert stored["attention"] == "still_broken"
    assert web.client.get(f"/api/v1{report}/reply").json()["markdown"].splitlines() == lines
    markdown = web.client.get(f"{report}.md").text
    assert f"A maintainer says: Confirmed bug: {words.sentence}" in markdown
    for path in ("/", "/attention/still_broken", "/reports"):
        assert "confirmed bug" in Page(web.client.get(path).text).text, path
    again = web.client.post(f"/api/v1{report}/confirm", json={})
    assert (again.status_code, again.json()["code"]) == (409, "report_confirmed")
    taken = web.client.post(f"/api/v1{report}/unconfirm", json={"reason": "It is not."}).json()
    assert (taken["confirmed"], taken["acts"][0]["what"]) == (None, "unconfirmed")
    none = web.client.post(f"/api/v1{report}/unconfirm", json={"reason": "x"})
    assert (none.status_code, none.json()["code"]) == (409, "report_not_confirmed")


def test_closing_ends_a_confirmation(web: Web) -> None:
    report = reported(web)
    assert (
        web.client.post(f"/api/v1{report}/confirm", json={"reason": "The sign is wrong."}).status_code == 200
    )
    body = {"disposition": "fixed", "fixed_by": "2.4.1"}
    closed = web.client.post(f"/api/v1{report}/close", json=body).json()
    assert (closed["confirmed"], closed["disposition"]["word"]) == (None, "fixed")
    refused = web.client.post(f"/api/v1{report}/confirm", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "report_closed")


def test_every_word_of_a_maintainer_has_its_sentence() -> None:
    assert set(DISPOSITIONS) == set(get_args(MaintainersWord)) == {*get_args(Disposition), "confirmed"}


def test_a_word_over_rest_needs_what_it_names_and_nothing_else(web: Web) -> None:
    report = reported(web)
    for body, field in (
        ({"disposition": "fixed"}, "fixed_by"),
        ({"disposition": "duplicate"}, "duplicate_of"),
        ({"disposition": "by_design", "duplicate_of": new_id()}, "duplicate_of"),
        ({"disposition": "by_design", "fixed_by": "2.4.1"}, "fixed_by"),
        ({"disposition": "fixed", "fixed_by": "x" * 201}, "fixed_by"),
        ({"disposition": "told"}, "disposition"),
        ({}, "reason"),
    ):
        answer = web.client.post(f"/api/v1{report}/close", json=body)
        assert (answer.status_code, field in answer.text) == (422, True), body
    body = {"disposition": "by_design", "reason": "Per the\naccuracy policy."}
    closed = web.client.post(f"/api/v1{report}/close", json=body).json()
    assert closed["acts"][0]["details"]["disposition"] == "by_design"
    answer = web.client.get(f"/api/v1{report}/reply").json()["markdown"]
    assert answer.splitlines()[0].endswith("meant to. Per the accuracy policy.")
    assert web.client.get("/api/v1/reports").json()["items"][0]["disposition"] == "by_design"


def keys_shown(page: BrowserPage) -> list[tuple[str, str]]:
    """The keys that the page offers, each with its words."""
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys on this page")
    expect(dialog).to_be_visible()
    found = list(
        zip(dialog.locator("kbd").all_inner_texts(), dialog.locator("dd").all_inner_texts(), strict=True)
    )
    dialog.get_by_role("button", name="Close").click()
    return found


@pytest.mark.browser
def test_the_keys_work_on_the_rows_of_a_list(web: Web, browser: Browser) -> None:
    reports = [reported(web, "raise RuntimeError('older')\n"), reported(web)][::-1]
    context = browser.new_context(base_url=web.url, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    for place, rows in (
        ("/", "table.reports tbody th > a"),
        ("/reports", "table.reports tbody th > a"),
        ("/attention/still_broken", ".waiting li > a"),
    ):
        page.goto(place)
        assert [key for key, _ in keys_shown(page)] == ["j", "k", "o", "c", "b", "/", "?"], place
        titles = page.locator(rows)
        first = page.locator("main").locator(rows).first
        while not first.evaluate("one => one === document.activeElement"):
            page.keyboard.press("j")
        page.keyboard.press("j")
        expect(titles.nth(1)).to_be_focused()
        page.keyboard.press("c")
        expect(page.get_by_role("status")).to_contain_text("Copied for the issue")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == web.client.get(f"{reports[1]}.md").text
        page.keyboard.press("o")
        page.wait_for_url(f"**{reports[1]}")
        page.go_back()
        first.focus()
        page.keyboard.press("b")
        page.wait_for_url(f"**{reports[0]}#over")
    context.close()


@pytest.mark.browser
def test_keys_that_do_nothing_on_a_page_are_not_offered(web: Web, browser: Browser) -> None:
    report = reported(web)
    page = browser.new_page(base_url=web.url)
    page.goto("/sign-in")
    assert [key for key, _ in keys_shown(page)] == ["/", "?"]
    page.goto(report)
    words = dict(keys_shown(page))
    assert (words["c"], words["o"], "j" in words) == ("copy the text for the issue", "overrule", False)
    page.close()


@pytest.mark.browser
def test_the_keys_reach_what_they_name(web: Web, browser: Browser) -> None:
    reported(web, "raise RuntimeError('older')\n")
    report = reported(web)
    page = browser.new_page(base_url=web.url)
    page.goto("/reports")
    titles = page.locator("table.reports tbody th > a")
    page.keyboard.press("j")
    expect(titles.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(titles.nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{report}")
    page.keyboard.press("o")
    expect(page.locator("#overrule-verdict")).to_be_focused()
    page.locator("#main").focus()
    page.keyboard.press("b")
    expect(page.locator("#over")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#over")).to_have_value(re.compile("/"))
    page.locator("#main").focus()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.locator("#main").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("overrule")
    page.get_by_label("Switch these keys off").check()
    page.get_by_role("button", name="Close", exact=True).click()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    page.close()
