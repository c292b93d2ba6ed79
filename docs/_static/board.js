// Filters and sorts the claims of the board. The rows come from the page itself.
(() => {
  "use strict";
  const COLUMNS = ["verdict", "claim", "measured", "target", "protocol", "version"];
  const STEP = 12;
  const plain = (text) => text.replaceAll("&lt;", "<");
  const rows = JSON.parse(document.getElementById("board-data").textContent).map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])));
  const form = document.getElementById("board-filters");
  const table = document.getElementById("board-claims");
  const more = document.getElementById("board-more");
  let by = "", down = false, shown = STEP;

  const head = table.createTHead().insertRow();
  for (const name of COLUMNS) {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => {
      down = by === name && !down;
      by = name;
      for (const one of head.cells) one.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      draw();
    });
    cell.append(button);
    head.append(cell);
  }
  const body = table.createTBody();

  function chosen() {
    const asked = Object.fromEntries(new FormData(form));
    const words = asked.words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) =>
      (asked.paper === "any" || row.claim.startsWith(asked.paper + "/")) &&
      ["verdict", "protocol", "version"].every((n) => asked[n] === "any" || row[n] === asked[n]) &&
      words.every((word) => (row.claim + " " + row.says).toLowerCase().includes(word)));
    if (by) found.sort((a, b) => a[by].localeCompare(b[by], "en", { numeric: true }) * (down ? -1 : 1));
    return found;
  }

  function draw() {
    const found = chosen();
    document.getElementById("board-number").textContent =
      `${found.length} of ${rows.length} claims`;
    body.replaceChildren(...found.slice(0, shown).map((row) => {
      const line = document.createElement("tr");
      line.className = row.verdict.replaceAll(" ", "-");
      for (const name of COLUMNS) {
        const cell = line.insertCell();
        if (name === "claim") {
          const says = document.createElement(row.page ? "a" : "span");
          if (row.page) says.href = row.page;
          says.textContent = row.says;
          const id = document.createElement("code");
          id.textContent = row.claim;
          cell.append(says, document.createElement("br"), id);
        } else cell.textContent = row[name];
      }
      return line;
    }));
    more.hidden = found.length <= shown;
  }
  form.addEventListener("input", () => { shown = STEP; draw(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => { shown += STEP; draw(); });
  draw();
})();
