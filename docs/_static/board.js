// Filters and sorts the claims of the board. Without it the table shows all of them.
(() => {
  "use strict";
  const STEP = 12;
  const form = document.getElementById("board-filters");
  const table = document.getElementById("board-claims");
  const more = document.getElementById("board-more");
  const head = table.tHead.rows[0];
  const body = table.tBodies[0];
  const columns = [...head.cells].map((cell) => cell.textContent);
  const rows = [...body.rows].map((line) => ({
    line,
    paper: line.id.split("/")[0],
    cells: Object.fromEntries(columns.map((name, n) => [name, line.cells[n].textContent])),
  }));
  let by = "", down = false, shown = STEP;

  for (const cell of head.cells) {
    const name = cell.textContent;
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
    cell.replaceChildren(button);
  }

  function chosen() {
    const asked = Object.fromEntries(new FormData(form));
    const words = asked.words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) =>
      (asked.paper === "any" || row.paper === asked.paper) &&
      ["verdict", "protocol", "version"].every((n) => asked[n] === "any" || row.cells[n] === asked[n]) &&
      words.every((word) => row.cells.claim.toLowerCase().includes(word)));
    if (by) {
      const order = (a, b) => a.cells[by].localeCompare(b.cells[by], "en", { numeric: true });
      found.sort((a, b) => order(a, b) * (down ? -1 : 1));
    }
    return found;
  }

  // The claim that the address names is shown whatever the filters say.
  function named() {
    const line = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    return line && body.contains(line) ? line : null;
  }

  function draw() {
    const found = chosen();
    document.getElementById("board-number").textContent =
      `${found.length} of ${rows.length} claims`;
    for (const row of rows) row.line.hidden = true;
    for (const row of found) body.append(row.line);
    for (const row of found.slice(0, shown)) row.line.hidden = false;
    const line = named();
    if (line) line.hidden = false;
    more.hidden = found.length <= shown;
  }

  function go() {
    draw();
    const line = named();
    if (line) line.scrollIntoView({ block: "center" });
  }
  form.addEventListener("input", () => { shown = STEP; draw(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => { shown += STEP; draw(); });
  window.addEventListener("hashchange", go);
  go();
})();
