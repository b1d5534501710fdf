"use strict";
// Tables: sorting by their headings, filters, and the table of configurations, filled when it is opened.

const report = JSON.parse(document.getElementById("report-data").textContent);

function cellKey(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
  const text = cell.textContent.trim();
  return text === "" ? null : text;
}

function compareKeys(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true, sensitivity: "base" });
}

function sortTable(table, column) {
  const headings = table.tHead.rows[0].cells;
  const heading = headings[column];
  const numbers = heading.classList.contains("number");
  const first = numbers ? "descending" : "ascending";
  const second = numbers ? "ascending" : "descending";
  const now = heading.getAttribute("aria-sort");
  const next = now === first ? second : now === second ? null : first;
  for (const other of headings) other.removeAttribute("aria-sort");
  if (next) heading.setAttribute("aria-sort", next);
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.forEach((row, i) => (row.dataset.at ??= i)); // the original order
  const sign = next === "descending" ? -1 : 1;
  const keyed = rows.map((row) => ({
    row,
    at: Number(row.dataset.at),
    last: row.classList.contains("total"),
    key: next ? cellKey(row, column) : null,
  }));
  keyed.sort((a, b) => {
    if (a.last !== b.last) return a.last ? 1 : -1; // a total stays last
    if (!next || a.key === b.key) return a.at - b.at;
    if (a.key === null || b.key === null) return a.key === null ? 1 : -1; // missing values come last
    return sign * compareKeys(a.key, b.key) || a.at - b.at;
  });
  body.append(...keyed.map((one) => one.row));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("table[data-sortable] thead button");
  if (button) sortTable(button.closest("table"), button.closest("th").cellIndex);
});

function setUpFilters() {
  const task = document.getElementById("filter-task");
  const model = document.getElementById("filter-model");
  const results = document.getElementById("results");
  const articles = [...results.querySelectorAll("article.task")];
  const apply = () => {
    const words = model.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    let all = 0;
    for (const article of articles) {
      let own = 0;
      for (const row of article.querySelectorAll("tbody tr")) {
        const name = row.dataset.model.toLowerCase();
        row.hidden = !words.every((word) => name.includes(word));
        own += row.hidden ? 0 : 1;
        all += 1;
      }
      article.hidden = own === 0 || (task.value !== "" && article.dataset.task !== task.value);
      shown += article.hidden ? 0 : own;
    }
    const filtered = words.length > 0 || task.value !== "";
    document.getElementById("filter-count").textContent = `${shown} of ${all} lines`;
    document.getElementById("filter-nothing").hidden = !filtered || shown > 0;
  };
  task.addEventListener("change", apply);
  model.addEventListener("input", apply);
  const form = task.form;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply)); // once the fields are empty
  apply();
}

function fillConfigurations() {
  const { rows, tasks, models, row, auroc } = report.fits;
  const counts = new Array(rows.task.length).fill(0);
  const known = new Array(rows.task.length).fill(0);
  const sums = new Array(rows.task.length).fill(0);
  row.forEach((r, i) => {
    counts[r] += 1;
    if (auroc[i] !== null) {
      known[r] += 1;
      sums[r] += auroc[i];
    }
  });
  const body = document.querySelector("#row-table tbody");
  const made = document.createDocumentFragment();
  rows.task.forEach((t, r) => {
    const line = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = tasks[t];
    line.append(head);
    const texts = [models[rows.model[r]], rows.options[r] || "defaults", rows.settings[r]];
    for (const text of texts) line.insertCell().textContent = text;
    const mean = known[r] ? sums[r] / known[r] : null;
    for (const [value, text] of [
      [counts[r], String(counts[r])],
      [mean, mean === null ? "" : mean.toFixed(3)],
    ]) {
      const cell = line.insertCell();
      cell.className = "number";
      cell.textContent = text;
      if (value !== null) cell.dataset.key = value;
    }
    made.append(line);
  });
  body.append(made);
}

document.getElementById("rows").addEventListener("toggle", fillConfigurations, { once: true });
setUpFilters();
