/** A table under a chart, and the same as a file. */

import { element } from "./dom.js";
import { say } from "./language.js";

const FORMULA = /^'*([ \t\r\n\f\v]*[=+\-@＝＋－＠]|[\t\r\n])/;
const NUMBER = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** Text for a cell of CSV. A spreadsheet takes a text that begins like a formula for one: it gets an apostrophe, as in Python. */
function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csv = (header, rows) => [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

/** Save text as a file. */
export function save(name, text, type) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * A part that opens to a table. `columns` are `{ name, key, number, show }`; rows are objects. The table is made when it is
 * looked at, and the file when it is asked for.
 */
export function dataTable(file, caption, name = say("table.title")) {
  const place = element("div", { class: "table", tabindex: 0, role: "region", "aria-label": `${name}: ${caption}` });
  const download = element("button", { type: "button", class: "plain", onclick: () => save(`${file}.csv`, csv(data.columns.map(({ key }) => key), data.rows.map((row) => data.columns.map(({ key }) => row[key]))), "text/csv") }, say("table.csv"));
  const node = element("details", { class: "data", ontoggle: () => draw() }, element("summary", {}, name), place, download);
  let data = { columns: [], rows: [] };
  function draw() {
    if (!node.open) return;
    place.replaceChildren(element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, data.columns.map(({ name, number }) => element("th", { scope: "col", class: number && "number" }, name)))),
      element("tbody", {}, data.rows.map((row) => element("tr", {}, data.columns.map(({ key, number, show = String }, at) => {
        const text = row[key] === null || row[key] === undefined ? "–" : show(row[key]);
        return element(at ? "td" : "th", { class: number && "number", dir: number ? null : "auto", scope: at ? null : "row" }, text);
      }))))));
  }
  return { node, show(columns, rows) { data = { columns, rows }; draw(); } };
}
