// What few need of the keys: their list, and the copy of a row. It is loaded when it is asked for.
const add = (parent, name, text = "") => {
  const one = parent.appendChild(document.createElement(name));
  one.textContent = text;
  return one;
};

export const showHelp = (keys, { isOff, setOff }) => {
  document.getElementById("keys")?.remove();
  const help = document.body.appendChild(Object.assign(document.createElement("dialog"), { id: "keys" }));
  help.setAttribute("aria-labelledby", "keys-title");
  add(help, "h2", "Keys on this page").id = "keys-title";
  const list = add(help, "dl");
  list.className = "facts wide";
  for (const one of keys) { add(add(list, "dt"), "kbd", one.key); add(list, "dd", one.words); }
  const label = add(add(help, "p"), "label");
  const box = label.appendChild(Object.assign(document.createElement("input"), { type: "checkbox", checked: isOff }));
  label.append(" Switch these keys off in this browser, except ?");
  box.addEventListener("change", () => setOff(box.checked));
  const close = add(add(help, "p"), "button", "Close");
  close.className = "btn";
  close.addEventListener("click", () => help.close());
  help.showModal();
};

// The output is there before it has words: then screen readers say them.
const said = document.body.appendChild(Object.assign(document.createElement("output"), { className: "said" }));
const say = (words) => {
  said.textContent = words;
  setTimeout(() => { if (said.textContent === words) said.textContent = ""; }, 4000);
};

export const copyRow = async (row) => {
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
