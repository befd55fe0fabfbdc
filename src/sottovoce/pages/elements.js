/** Elements from text alone: nothing that a survey says is ever read as HTML. */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["checked", "disabled", "hidden", "open", "required", "selected", "value"]);

/**
 * An element with attributes and children. `on...` attributes are listeners; children are elements or text, and
 * `null`, `undefined` and `false` are left out. Text of others gets a direction of its own by `dir: "auto"`.
 */
export const element = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** The same for drawings. */
export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name) && name in made) made[name] = value;
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Text that somebody else wrote: it may run in either direction. */
export const theirs = (text, name = "span", attributes = {}) =>
  element(name, { dir: "auto", ...attributes }, String(text));

/** The element with an id, emptied and filled anew. */
export function put(id, ...children) {
  const place = document.getElementById(id);
  place.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return place;
}

/** A part that opens and closes. */
export const details = (summary, ...children) => element("details", {}, element("summary", {}, summary), ...children);
