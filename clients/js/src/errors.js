/** What can go wrong, by cause. Every message is one line: what, which rule, which value. */

export class SottovoceError extends Error {}

/** A class of errors with a name of its own, which no minifier changes. */
const named = (name) => {
  const made = class extends SottovoceError {};
  made.prototype.name = name;
  return made;
};

/** A mechanism or a survey asks for something impossible. */
export const ParameterError = named("ParameterError");
/** An answer lies outside its domain, or is missing where that is refused. */
export const DomainError = named("DomainError");
/** A report could not have come from the mechanism it is for. */
export const ReportError = named("ReportError");
/** A device will not answer: the survey is not what was pinned, has expired, or costs more than is left. */
export const Refusal = named("Refusal");
/** What a device remembers cannot be read or written. */
export const StoreError = named("StoreError");

/** An error of a class, unless a rule holds; otherwise the value that it is about. */
export function demand(kind, holds, rule, value) {
  if (holds) return value;
  let text = "a cycle";
  try {
    text = String(JSON.stringify(value, (_, entry) => (typeof entry === "bigint" ? String(entry) : entry)));
  } catch {
    // JSON has no words for that.
  }
  throw new kind(`${rule}, got ${text.length > 60 ? `${text.slice(0, 60)}...` : text}`);
}

/** Rules for parameters, and for answers. */
export const must = (holds, rule, value) => demand(ParameterError, holds, rule, value);

export const expect = (holds, rule, value) => demand(DomainError, holds, `an answer must ${rule}`, value);

/** Run something; an error says where it happened. */
export function within(place, run) {
  try {
    return run();
  } catch (error) {
    if (error instanceof SottovoceError) error.message = `${place}: ${error.message}`;
    throw error;
  }
}
