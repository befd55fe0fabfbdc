/**
 * What the pages say, in the language of the person. All strings are in strings.json, by section, key and language.
 * `say("rehearsal.draw", { n: 10 })` puts values into their {places}; numbers are written as the language writes them.
 */

const STRINGS = await (await fetch("/assets/strings.json")).json();
const STORED_LANGUAGE = "sottovoce-language";

export const languages = Object.keys(STRINGS.common.language);

function chosen() {
  const wished = [new URLSearchParams(location.search).get("lang"), remembered(), ...navigator.languages];
  return wished.map((tag) => tag?.split("-")[0]).find((tag) => languages.includes(tag)) ?? languages[0];
}

function remembered() {
  try {
    return localStorage.getItem(STORED_LANGUAGE);
  } catch {
    return null; // A browser may keep nothing at all.
  }
}

export const language = chosen();
document.documentElement.lang = language;

/** A number as the language writes it; with a count of digits, so many significant ones. */
export const number = (value, digits) =>
  new Intl.NumberFormat(language, digits ? { maximumSignificantDigits: digits } : {}).format(value);

/** A string by its key. A value may be text or a number; an unknown key is an error. */
export function say(key, values = {}) {
  const [section, name] = key.split(".");
  const text = STRINGS[section]?.[name]?.[language];
  if (text === undefined) throw new Error(`there is no string ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, place) => {
    const value = values[place];
    return typeof value === "number" ? number(value) : String(value);
  });
}

/** Whether there is such a string. */
export const has = (key) => STRINGS[key.split(".")[0]]?.[key.split(".")[1]] !== undefined;

/** A select to change the language; the page is loaded again in it, with a fragment that it must not lose. */
export function switcher(element, fragment = () => "") {
  const entries = languages.map((tag) =>
    element("option", { value: tag, lang: tag, selected: tag === language }, STRINGS.common.language[tag]),
  );
  const change = ({ target }) => {
    try {
      localStorage.setItem(STORED_LANGUAGE, target.value);
    } catch {
      // Then it is in the address alone.
    }
    const place = new URL(location.href);
    place.searchParams.set("lang", target.value);
    place.hash = [place.hash.slice(1), fragment()].filter(Boolean).join("&");
    location.replace(place);
  };
  return element(
    "label",
    { class: "switch" },
    element("span", { class: "hidden" }, say("common.choose_language")),
    element("select", { onchange: change, autocomplete: "off" }, ...entries),
  );
}
