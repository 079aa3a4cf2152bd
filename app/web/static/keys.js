// Single keys, for those who look through many reports. Everything works without them.
(() => {
  const LISTED = "main .waiting li > a, main :is(table.reports, table.triage, table.changes) tbody th > a";
  const OFF = "samehere-keys-off";
  const isOff = () => { try { return localStorage.getItem(OFF) === "yes"; } catch { return false; } };
  const setOff = (off) => { try { localStorage.setItem(OFF, off ? "yes" : "no"); } catch { /* it holds for this page */ } };
  const MORE = document.currentScript.dataset.more;

  const rows = () => [...document.querySelectorAll(LISTED)].filter((one) => one.checkVisibility?.() ?? true);
  const isReport = (row) => row.pathname.startsWith("/reports/");
  const placeOf = (key) => {
    const hash = document.querySelector(`[data-key="${key}"]`)?.hash;
    return hash ? document.querySelector(hash) : null;
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
  const showHelp = async () => (await import(MORE)).showHelp(KEYS.filter(works), { isOff: isOff(), setOff });

  // A key may do two things: one with the chosen row of a list, one with the page. A row goes first.
  const KEYS = [
    { key: "j", words: "choose the next one in the list", row: () => step(1), any: true },
    { key: "k", words: "choose the one before", row: () => step(-1), any: true },
    { key: "o", words: "open the chosen one", row: (row) => row.click() },
    { key: "c", words: "copy the text of the chosen report, for an issue", row: async (row) => (await import(MORE)).copyRow(row), of: isReport },
    { key: "b", words: "bisect the chosen report", row: (row) => location.assign(`${row.pathname}#over`), of: isReport },
    { key: "c", words: "copy the text for the issue", place: () => document.querySelector("main button[data-copy]:not([hidden])"), act: (button) => button.click() },
    { key: "b", words: "bisect", place: () => placeOf("b"), act: reach },
    { key: "o", words: "overrule", place: () => placeOf("o"), act: reach },
    { key: "/", words: "search", place: () => document.querySelector("header.top input[type=search]"), act: (field) => { field.focus(); field.select(); } },
    { key: "?", words: "show these keys", place: () => document.body, act: showHelp },
  ];
  const works = (one) => (one.row ? rows().some((row) => one.of?.(row) ?? true) : Boolean(one.place()));
  const press = (one) => {
    const target = one.row ? rows().find((row) => row === document.activeElement) : one.place();
    if (one.any ? !works(one) : !(target && (one.of?.(target) ?? true))) return false;
    (one.row ?? one.act)(target);
    return true;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=checkbox],[type=radio]), textarea, select, [contenteditable]")) return;
    if (isOff() && event.key !== "?") return;
    if (KEYS.filter((one) => one.key === event.key).some(press)) event.preventDefault();
  });
})();
