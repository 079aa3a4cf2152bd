// Updates the page of a run or a bisection while it goes on. Only changed parts are replaced,
// so the reader keeps the position, the selection, open details and the focus.
(() => {
  const place = document.getElementById("run");
  if (!place || place.dataset.live !== "yes" || !window.EventSource) return;
  const news = document.getElementById("news");
  const { run } = place.dataset;
  const pause = 400;
  let busy = false, pending = false;

  const focusables = (part) => [...part.querySelectorAll("a, button, summary, select, [tabindex]")];
  const replace = (old, fresh) => {
    const opened = new Set([...old.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
    const focused = focusables(old).indexOf(document.activeElement);
    old.replaceWith(fresh);
    for (const one of fresh.querySelectorAll("details > summary")) if (opened.has(one.textContent)) one.parentElement.open = true;
    if (focused >= 0) (focusables(fresh)[focused] || focusables(fresh)[0])?.focus({ preventScroll: true });
  };
  // Whether details are open, and the time that has passed, are no change.
  const plain = (part) => part.outerHTML.replaceAll(' open=""', "").replaceAll(/(data-since="[^"]*">)[^<]*/g, "$1");
  const merge = (fresh) => {
    let before = null;
    for (const part of [...fresh.children]) {
      const old = document.getElementById(part.id);
      if (!old) before ? before.after(part) : place.prepend(part);
      else if (plain(old) !== plain(part)) replace(old, part);
      before = document.getElementById(part.id);
    }
  };
  const announce = () => {
    const verdict = document.getElementById("part-verdict");
    // Instead of a verdict that can't be shown, there is one sentence.
    if (!verdict.dataset.title) return;
    const words = (verdict.querySelector(".summary") ?? verdict.querySelector(".ended") ?? verdict.querySelector(".what, strong")).textContent;
    if (news.textContent !== words) news.textContent = words;
    document.title = document.title.replace(/^[^·]*/, `${verdict.dataset.title} `);
  };
  // The forms for maintainers are outside the updated parts. They appear when the run has ended.
  const showForms = async () => {
    const answer = await fetch(location.pathname);
    const fresh = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("maintain");
    if (fresh) document.getElementById("maintain").replaceWith(fresh);
  };
  const refresh = async () => {
    if (busy) { pending = true; return; }
    busy = true;
    try {
      const answer = await fetch(place.dataset.fragment || `/runs/${run}/fragment`);
      if (answer.ok) {
        merge(new DOMParser().parseFromString(await answer.text(), "text/html").body);
        announce();
        const ended = document.getElementById("part-verdict").dataset.state === "finished";
        if (ended && !document.querySelector("#maintain details")) await showForms();
      }
    } catch { /* the next event starts another attempt */ }
    setTimeout(() => { busy = false; if (pending) { pending = false; refresh(); } }, pause);
  };

  const passed = (seconds) => seconds < 100 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
  setInterval(() => {
    for (const one of place.querySelectorAll("[data-since]")) {
      const words = passed(Math.max(0, (Date.now() - Date.parse(one.dataset.since)) / 1000));
      if (one.textContent !== words) one.textContent = words;
    }
  }, 1000);

  const kinds = ["attempt.leased", "attempt.started", "attempt.recorded", "attempt.requeued", "attempt.lost", "attempt.cancelled", "attempt.withdrawn", "job.judged", "job.restarted", "job.added", "job.cancelled", "run.reopened", "run.finished", "run.cancelled"];
  // A browser opens six connections to one host, and a stream holds one. So a hidden tab has none.
  let events = null;
  const listen = () => {
    events = new EventSource(`/api/v1/runs/${run}/events`);
    for (const kind of kinds) events.addEventListener(kind, refresh);
  };
  // The stream ends with the run. A reconnect is answered with 204, so it stays closed.
  const hasEnded = () =>
    events?.readyState === EventSource.CLOSED ||
    ["finished", "cancelled"].includes(document.getElementById("part-verdict")?.dataset.state);
  // The cell that looks for a place without the bug goes on after its run.
  const looksForContrast = () => place.querySelector("[data-contrast]") !== null;
  let isOver = false;
  document.addEventListener("visibilitychange", () => {
    isOver ||= hasEnded() && !looksForContrast();
    if (isOver) return;
    if (document.hidden) { events?.close(); events = null; return; }
    if (!events) listen();
    refresh();
  });
  if (!document.hidden) listen();
  // The queue position changes with other runs, and they send no events here. A hidden tab only looks at times.
  let ticks = 0;
  setInterval(() => {
    ticks += 1;
    if (isOver || (hasEnded() && !looksForContrast())) return;
    if (document.hidden ? ticks % 6 === 0 : place.querySelector("[data-waiting], [data-stage=waits_for_place], [data-contrast]")) refresh();
  }, 5000);
})();
