"""The button that stops a run."""

from __future__ import annotations

from running_web import Web

from app.storage.queries.runs import lock_run


def test_a_run_is_stopped_and_shown(web: Web) -> None:
    web.stage.node("n")
    run = web.stage.submit().document.id
    for _ in range(2):
        answer = web.client.post(f"/runs/{run}/cancel", follow_redirects=True)
        assert (answer.status_code, answer.url.path) == (200, f"/runs/{run}")
        assert "cancelled" in answer.text
        assert f'action="/runs/{run}/cancel"' not in answer.text


def test_a_run_that_finished_meanwhile_is_shown_as_it_is(web: Web) -> None:
    web.stage.node("n")
    run = web.stage.submit().document.id
    with web.stage.session() as session:
        row = lock_run(session, run)
        assert row is not None
        row.state = "finished"
    answer = web.client.post(f"/runs/{run}/cancel", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/runs/{run}")
    assert web.stage.run(run).state == "finished"


def test_another_page_cannot_press_it(web: Web) -> None:
    web.stage.node("n")
    run = web.stage.submit().document.id
    answer = web.client.post(f"/runs/{run}/cancel", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert web.stage.run(run).state != "cancelled"
