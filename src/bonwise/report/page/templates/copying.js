document.addEventListener("DOMContentLoaded", () => {
  const commands = document.querySelectorAll("p.command > code, td.code > code");
  if (!commands.length) return;
  const said = document.createElement("p");
  said.className = "unseen";
  said.setAttribute("role", "status");
  document.querySelector("main").append(said);

  // A page that is opened over plain http has no clipboard of its own.
  const selected = (code) => {
    const range = document.createRange();
    range.selectNodeContents(code);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    const done = document.execCommand("copy");
    if (done) selection.removeAllRanges();
    return done;
  };
  const copied = async (code) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      return true;
    } catch {
      return selected(code);
    }
  };
  for (const code of commands) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy the command ${code.textContent}`);
    let waiting = 0;
    button.addEventListener("click", async () => {
      const done = await copied(code);
      said.textContent = done ? "Copied" : "Not copied: the command is selected";
      button.textContent = done ? "Copied" : "Selected";
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        button.textContent = "Copy";
        said.textContent = "";
      }, 2000);
    });
    code.after(button);
  }
});
