// Copy buttons. Without JavaScript they stay hidden; then the reader can select the text in the page.
(() => {
  const say = (button, words) => {
    const before = button.dataset.words || button.textContent;
    button.dataset.words = before;
    button.textContent = words;
    setTimeout(() => { button.textContent = before; }, 2000);
  };
  const copy = async (text, field) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      if (!("select" in field)) return false;
      const holder = field.closest("details");
      if (holder) holder.open = true;
      field.select();
      return document.execCommand("copy");
    }
  };
  const show = () => { for (const button of document.querySelectorAll("button[data-copy][hidden]")) button.hidden = false; };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copy);
    say(button, await copy(field.value ?? field.textContent, field) ? "Copied" : "Select it below");
  });
  show();
  new MutationObserver(show).observe(document.getElementById("main"), { childList: true, subtree: true });
})();
