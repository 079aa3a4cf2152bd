// Single keys, for those who look through many reports. Everything works without them.
(() => {
  const LISTED = "main .waiting li > a, main :is(table.reports, table.triage, table.changes) tbody th > a";
  const OFF = "samehere-keys-off";
  const isOff = () => { try { return localStorage.getItem(OFF) === "yes"; } catch { return false; } };
  const setOff = (off) => { try { localStorage.setItem(OFF, off ? "yes" : "no"); } catch { /* it holds for this page */ } };

  const rows = () => [...document.querySelectorAll(LISTED)].filter((one) => one.checkVisibility?.() ?? true);
  const isReport = (row) => row.pathname.startsWith("/reports/");
  const chosen = () => rows().find((row) => row === document.activeElement);
  const copyButton = () => document.querySelector("main button[data-copy]:not([hidden])");
  const searchField = () => document.querySelector("header.top input[type=search]");
  const placeOf = (key) => {
    const one = document.querySelector(`[data-key="${key}"]`);
    return one?.hash ? document.querySelector(one.hash) : null;
  };
  const add = (parent, name, text = "") => {
    const one = parent.appendChild(document.createElement(name));
    one.textContent = text;
    return one;
  };
  const step = (by) => {
    const all = rows();
    const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(document.activeElement) + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const reach = (target) => {
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target.scrollIntoView({ block: "center" });
    target.focus();
  };
  const said = Object.assign(document.createElement("output"), { className: "said", hidden: true });
  document.body.append(said);
  const say = (words) => {
    said.hidden = false;
    said.textContent = words;
    setTimeout(() => { if (said.textContent === words) said.hidden = true; }, 4000);
  };
  const copyRow = async (row) => {
    const path = `${row.pathname}.md`;
    try {
      const answer = await fetch(path);
      if (!answer.ok) throw new Error(answer.statusText);
      await navigator.clipboard.writeText(await answer.text());
      say(`Copied for the issue: ${row.textContent}`);
    } catch {
      say(`Nothing was copied. The text is at ${path}`);
    }
  };

  // A key may do two things: one with the chosen row of a list, one with the page. A row goes first.
  const KEYS = [
    { key: "j", words: "choose the next one in the list", row: () => step(1), any: true },
    { key: "k", words: "choose the one before", row: () => step(-1), any: true },
    { key: "o", words: "open the chosen one", row: (row) => row.click() },
    { key: "c", words: "copy the text of the chosen report, for an issue", row: copyRow, of: isReport },
    { key: "b", words: "bisect the chosen report", row: (row) => location.assign(`${row.pathname}#over`), of: isReport },
    { key: "c", words: "copy the text for the issue", place: copyButton, act: (button) => button.click() },
    { key: "b", words: "bisect", place: () => placeOf("b"), act: reach },
    { key: "o", words: "overrule", place: () => placeOf("o"), act: reach },
    { key: "/", words: "search", place: searchField, act: (field) => { field.focus(); field.select(); } },
    { key: "?", words: "show these keys", place: () => document.body, act: () => showHelp() },
  ];
  const works = (one) => (one.row ? rows().some((row) => one.of?.(row) ?? true) : Boolean(one.place()));
  const press = (one) => {
    if (one.row) {
      const row = chosen();
      if (!one.any && !(row && (one.of?.(row) ?? true))) return false;
      one.row(row);
      return works(one);
    }
    const place = one.place();
    if (place) one.act(place);
    return Boolean(place);
  };

  let help = null;
  const showHelp = () => {
    if (help?.open) return;
    help?.remove();
    help = document.body.appendChild(document.createElement("dialog"));
    help.setAttribute("aria-labelledby", "keys-title");
    add(help, "h2", "Keys on this page").id = "keys-title";
    const list = add(help, "dl");
    list.className = "facts wide";
    for (const one of KEYS.filter(works)) { add(add(list, "dt"), "kbd", one.key); add(list, "dd", one.words); }
    const label = add(add(help, "p"), "label");
    const box = label.appendChild(Object.assign(document.createElement("input"), { type: "checkbox", checked: isOff() }));
    label.append(" Switch these keys off in this browser, except ?");
    box.addEventListener("change", () => setOff(box.checked));
    const close = add(add(help, "p"), "button", "Close");
    close.className = "btn";
    close.addEventListener("click", () => help.close());
    help.showModal();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help?.open) return;
    if (event.target.closest("input:not([type=checkbox],[type=radio]), textarea, select, [contenteditable]")) return;
    if (isOff() && event.key !== "?") return;
    if (KEYS.filter((one) => one.key === event.key).some(press)) event.preventDefault();
  });
})();
