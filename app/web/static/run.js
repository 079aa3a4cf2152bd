// Fills a run's page in while the run goes on: on each event of the run its part of the page is fetched again.
(() => {
  const place = document.getElementById("run");
  if (!place || place.dataset.live !== "yes" || !window.EventSource) return;
  const id = place.dataset.run;
  const events = new EventSource(`/api/v1/runs/${id}/events`);
  let busy = false, again = false;
  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(`/runs/${id}/fragment`, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const open = new Set([...place.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
        place.innerHTML = await answer.text();
        for (const one of place.querySelectorAll("details > summary")) if (open.has(one.textContent)) one.parentElement.open = true;
      }
    } catch { /* the next event tries again */ }
    busy = false;
    if (again) { again = false; refresh(); }
  };
  const last = () => { events.close(); refresh(); };
  for (const kind of ["attempt.started", "attempt.recorded", "attempt.requeued", "attempt.lost", "job.judged", "job.restarted"]) events.addEventListener(kind, refresh);
  for (const kind of ["run.finished", "run.cancelled"]) events.addEventListener(kind, last);
})();
