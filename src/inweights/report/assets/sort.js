/* Sorts a table by the column whose header is pressed; the rest of the page needs no script. */
(function () {
  "use strict";

  function value(row, place) {
    return row.cells[place].dataset.value || row.cells[place].textContent;
  }

  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.querySelectorAll("thead button").forEach(function (button, place) {
      button.addEventListener("click", function () {
        var head = button.parentNode;
        var numeric = head.classList.contains("num");
        var before = head.getAttribute("aria-sort");
        /* Numbers are most interesting where they are large. */
        var rising = before ? before === "descending" : !numeric;
        var rows = Array.prototype.slice.call(table.tBodies[0].rows);
        rows.sort(function (one, other) {
          var a = value(one, place), b = value(other, place);
          var order = numeric
            ? (a === "" ? -Infinity : Number(a)) - (b === "" ? -Infinity : Number(b))
            : a.localeCompare(b);
          return rising ? order : -order;
        });
        table.querySelectorAll("th").forEach(function (th) { th.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        rows.forEach(function (row) { table.tBodies[0].appendChild(row); });
      });
    });
  });
})();
