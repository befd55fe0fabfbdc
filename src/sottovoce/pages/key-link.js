/**
 * The key for a survey that came behind the `#` of the address, which browsers keep to themselves. It is taken out of the
 * address and of the history at once: this module is loaded before all others.
 */

/** The text of the key that the address holds, or null; the rest of the address stays. */
export function takeKey() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const text = parts.get("key");
  if (text === null) return null;
  parts.delete("key");
  const left = String(parts);
  history.replaceState(history.state, "", `${location.pathname}${location.search}${left && `#${left}`}`);
  return text;
}

export const arrived = takeKey();

/** An address of this page with a key. */
export const linkOf = (key) => `${location.origin}${location.pathname}#key=${key.toText()}`;

/** What somebody pasted or what a file holds: a link, the part behind its `#`, or the 43 characters of the key. */
export const keyIn = (text) => /(?:^|[#&]key=|^key=)([\w-]{43})(?![\w-])/m.exec(text.trim())?.[1] ?? null;
