/* Copies a command; the rest of the page needs no script. */
(function () {
  "use strict";

  function select(node) {
    var range = document.createRange();
    range.selectNodeContents(node);
    var chosen = window.getSelection();
    chosen.removeAllRanges();
    chosen.addRange(range);
  }

  document.querySelectorAll("button.copy").forEach(function (button) {
    button.addEventListener("click", function () {
      function done() {
        button.textContent = "Copied";
        window.setTimeout(function () { button.textContent = "Copy"; }, 1600);
      }
      function fall() {
        select(button.parentNode.querySelector("code"));
        if (document.execCommand("copy")) { done(); }
      }
      if (navigator.clipboard && navigator.clipboard.writeText) {
        navigator.clipboard.writeText(button.dataset.copy).then(done, fall);
      } else {
        fall();
      }
    });
  });
})();
