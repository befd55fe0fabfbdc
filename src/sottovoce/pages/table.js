/** A table under a chart, and the same as a file. */

import { element } from "./elements.js";
import { say } from "./language.js";

const BEGINS = "['\" \\t\\r\\n\\f\\v\\x85\\xa0\\xad\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u2064\\u3000\\ufeff]*[=+\\-@＝＋－＠]";
const FORMULA = new RegExp(`^(${BEGINS}|'*[\\t\\r\\n])`);
const INSIDE = new RegExp(`([;\\t\\r\\n])(?=${BEGINS})`, "g");
const NUMBER = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;

/** Text that a spreadsheet does not take for a formula: an apostrophe in front, and behind what may end a cell, as in Python. */
function protect(text) {
  const inside = text.replace(INSIDE, "$1'");
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${inside}` : inside;
}

/** Text for a cell of CSV. */
function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value === "string" ? protect(text) : text;
  return /[",;\t\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
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
      element("thead", {}, element("tr", {}, data.columns.map((column) => element("th", { scope: "col", class: column.number && "number" }, column.name)))),
      element("tbody", {}, data.rows.map((row) => element("tr", {}, data.columns.map(({ key, number, show = String }, at) => {
        const text = row[key] === null || row[key] === undefined ? "–" : show(row[key]);
        return element(at ? "td" : "th", { class: number && "number", dir: number ? null : "auto", scope: at ? null : "row" }, text);
      }))))));
  }
  return { node, show(columns, rows) { data = { columns, rows }; draw(); } };
}
