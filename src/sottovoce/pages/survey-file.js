/** A survey as a file that `sotto serve` takes. Texts are quoted as in JSON, which is YAML too. */

// eslint-disable-next-line no-control-regex -- Control characters are what is taken out.
const clean = (text) => text.normalize("NFC").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "").trim();
const quoted = (text) => JSON.stringify(clean(String(text)));

/** A name for machines from a text for people. */
export function slug(text, fallback, join = "-") {
  const plain = text.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, join).slice(0, 40);
  const trimmed = plain.replace(/^[-_0-9]+|[-_]+$/g, "");
  return trimmed || fallback;
}

/** Ids for questions: from their texts, all different. */
export function named(questions) {
  const used = new Set();
  return questions.map((question, at) => {
    const base = slug(question.text, `question_${at + 1}`, "_").split("_").slice(0, 4).join("_");
    let id = base;
    for (let more = 2; used.has(id); more++) id = `${base}_${more}`;
    used.add(id);
    return { ...question, id };
  });
}

function lines({ id, text, kind, epsilon, mechanism, values, low, high, estimate, max_bytes: bytes }) {
  const fields = [["id", quoted(id)], ["text", quoted(text)], ["kind", kind], ["epsilon", epsilon]];
  if (mechanism !== "auto") fields.push(["mechanism", mechanism]);
  if (["choice", "multiple", "ordered"].includes(kind)) fields.push(["values", `[${values.map(quoted).join(", ")}]`]);
  if (kind === "number") fields.push(["low", low], ["high", high], ["estimate", estimate]);
  if (kind === "text") fields.push(["max_bytes", bytes]);
  return fields.map(([name, value], at) => `${at ? "    " : "  - "}${name}: ${value}`);
}

/** The whole file. */
export function yaml({ title, contact, minimum, questions }) {
  const head = ["sottovoce: 1", `id: ${quoted(slug(title, "my-survey"))}`, `title: ${quoted(title)}`];
  if (clean(contact)) head.push(`contact: ${quoted(contact)}`);
  return [...head, `minimum: ${minimum}`, "questions:", ...named(questions).flatMap(lines), ""].join("\n");
}
