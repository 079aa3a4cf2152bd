// Single keys, for those who look through many reports. Everything works without them.
(() => {
  const KEYS = [["j", "the next report in a list"], ["k", "the report before"], ["c", "copy the text for the issue"], ["b", "bisect"], ["o", "overrule"], ["/", "search"], ["?", "show these keys"]];
  const LISTED = "main .waiting li > a, main table.reports tbody th > a, main table.triage tbody th > a, main [data-item]";
  const OFF = "samehere-keys-off";
  const isOff = () => { try { return localStorage.getItem(OFF) === "yes"; } catch { return false; } };
  const setOff = (off) => { try { localStorage.setItem(OFF, off ? "yes" : "no"); } catch { /* it holds for this page */ } };

  const step = (by) => {
    const all = [...document.querySelectorAll(LISTED)].filter((one) => one.checkVisibility?.() ?? true);
    const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(document.activeElement) + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const reach = (target) => {
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target.scrollIntoView({ block: "center" });
    target.focus();
  };
  const press = (key) => {
    const one = document.querySelector(`[data-key="${key}"]`);
    const place = one?.hash && document.querySelector(one.hash);
    if (place) reach(place);
    return Boolean(place);
  };
  const copy = () => {
    const button = document.querySelector("main button[data-copy]:not([hidden])");
    button?.click();
    return Boolean(button);
  };
  const search = () => {
    const field = document.querySelector("header.top input[type=search]");
    field?.focus();
    field?.select();
    return Boolean(field);
  };
  const add = (parent, name, text = "") => {
    const one = parent.appendChild(document.createElement(name));
    one.textContent = text;
    return one;
  };
  let help = null;
  const showHelp = () => {
    if (!help) {
      help = document.body.appendChild(document.createElement("dialog"));
      help.setAttribute("aria-labelledby", "keys-title");
      add(help, "h2", "Keys").id = "keys-title";
      const list = add(help, "dl");
      list.className = "facts wide";
      for (const [key, words] of KEYS) { add(add(list, "dt"), "kbd", key); add(list, "dd", words); }
      const label = add(add(help, "p"), "label");
      const box = label.appendChild(Object.assign(document.createElement("input"), { type: "checkbox", checked: isOff() }));
      label.append(" Switch these keys off in this browser, except ?");
      box.addEventListener("change", () => setOff(box.checked));
      const close = add(add(help, "p"), "button", "Close");
      close.className = "btn";
      close.addEventListener("click", () => help.close());
    }
    if (!help.open) help.showModal();
  };
  const acts = { j: () => step(1), k: () => step(-1), c: copy, b: () => press("b"), o: () => press("o"), "/": search };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help?.open) return;
    if (event.target.closest("input:not([type=checkbox],[type=radio]), textarea, select, [contenteditable]")) return;
    if (event.key === "?") { event.preventDefault(); showHelp(); return; }
    const act = Object.hasOwn(acts, event.key) ? acts[event.key] : null;
    if (!act || isOff()) return;
    if (act() !== false) event.preventDefault();
  });
})();
