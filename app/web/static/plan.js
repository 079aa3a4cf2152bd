// After a correction the focus comes back to what was corrected. Without JavaScript the fragment alone does so.
(() => {
  const form = document.querySelector("form.submit");
  let changed = "";
  form?.addEventListener("change", (event) => { changed = event.target.id || changed; });
  form?.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (changed && button?.getAttribute("formaction") === "/plan#read") button.setAttribute("formaction", `/plan#${changed}`);
  });
  const wrong = document.querySelector("[aria-invalid=true]");
  const target = wrong ?? (location.hash && document.getElementById(location.hash.slice(1)));
  if (!target) return;
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
})();
