/** The library under test: the one built file, or by SOTTOVOCE=../src/index.js the modules it is made of. */

import { readdirSync, readFileSync } from "node:fs";

export const library = await import(process.env.SOTTOVOCE ?? "../sottovoce.js");

const FOLDER = new URL("../../../vectors/", import.meta.url);

/** The vectors of all mechanisms, by name, or one other file. */
export const vectors = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
export const mechanisms = readdirSync(FOLDER)
  .filter((file) => file.endsWith(".json"))
  .map((file) => file.replace(".json", ""))
  .filter((name) => vectors(name).vectors);

/** Draws that were written down. */
export class Replay extends library.Source {
  constructor(draws) {
    super();
    this.left = [...draws];
  }

  draw() {
    if (!this.left.length) throw new Error("there are no more draws");
    return this.left.shift();
  }
}

/** Reports as vectors have them, and back. */
export const toJson = (report) => (report instanceof Uint8Array ? Buffer.from(report).toString("hex") : report);
export const fromJson = (mechanism, report) =>
  mechanism.length && typeof report === "string" ? new Uint8Array(Buffer.from(report, "hex")) : report;

/** What assert.throws and assert.rejects are to look for: an error of this name, in one line. */
export const error = (name, pattern = /./) => (thrown) => {
  if (thrown.name !== name || !pattern.test(thrown.message) || thrown.message.includes("\n")) throw thrown;
  return true;
};
