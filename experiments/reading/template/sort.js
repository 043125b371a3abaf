"use strict";
// A press of a head's button sorts: numbers from high to low, words from A to Z, then the other
// way round, then back to the table's own order. Empty values stay last either way.
(function () {
  function key(row, column) {
    var cell = row.cells[column];
    var given = cell.getAttribute("data-value");
    return (given === null ? cell.textContent : given).trim();
  }

  function number(text) {
    return parseFloat(text.replace(/\u2212/g, "-"));
  }

  function compare(first, second, words) {
    if (words) {
      return first < second ? -1 : first > second ? 1 : 0;
    }
    return number(first) - number(second);
  }

  function empty(text, words) {
    return words ? text === "" : isNaN(number(text));
  }

  function sort(table, head, column) {
    var words = head.getAttribute("data-sort") === "words";
    var first = words ? "ascending" : "descending";
    var second = words ? "descending" : "ascending";
    var now = head.getAttribute("aria-sort");
    var next = now === first ? second : now === second ? "none" : first;
    table.querySelectorAll("thead th[aria-sort]").forEach(function (other) {
      other.setAttribute("aria-sort", "none");
    });
    head.setAttribute("aria-sort", next);
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    rows.forEach(function (row, place) {
      if (!row.hasAttribute("data-place")) {
        row.setAttribute("data-place", String(place));
      }
    });
    rows.sort(function (a, b) {
      var order = Number(a.getAttribute("data-place")) - Number(b.getAttribute("data-place"));
      if (next === "none") {
        return order;
      }
      var left = key(a, column);
      var right = key(b, column);
      var gaps = Number(empty(left, words)) - Number(empty(right, words));
      if (gaps !== 0 || empty(left, words)) {
        return gaps || order;
      }
      var found = compare(left, right, words);
      return (next === "ascending" ? found : -found) || order;
    });
    rows.forEach(function (row) {
      body.appendChild(row);
    });
    table.classList.toggle("sorted", next !== "none");
  }

  document.querySelectorAll("table.sortable").forEach(function (table) {
    table.querySelectorAll("thead th[aria-sort]").forEach(function (head) {
      head.querySelector("button").addEventListener("click", function () {
        sort(table, head, head.cellIndex);
      });
    });
  });

  // What is folded away would not be printed.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (details) {
      details.open = true;
    });
  });
})();
