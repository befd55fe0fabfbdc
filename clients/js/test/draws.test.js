/** Time must not tell what was drawn: the same draws are made for every outcome and every answer. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { library, mechanisms, vectors } from "./library.js";

class Counted extends library.Source {
  count = 0;

  draw() {
    this.count++;
    return super.draw();
  }
}

for (const name of mechanisms) {
  vectors(name).vectors.forEach((vector, at) => {
    test(`${name} ${at}: as many draws for all outcomes and answers`, () => {
      const made = library.mechanism(vector.mechanism);
      const counts = new Map();
      for (const { value } of [...vector.cases, ...vector.cases]) {
        const source = new Counted();
        made.randomize(value, source);
        counts.set(source.count, value);
      }
      const inParts = made.name === "ranges" || /sample|pairs/.test(vector.mechanism.how);
      if (inParts) return; // Which part was drawn stands in the report, and parts draw as much as they need.
      assert.equal(counts.size, 1, JSON.stringify([...counts.keys()]));
    });
  });
}

test("no coin decides where to go: its outcome is a number that picks from an array", () => {
  for (const file of ["frequencies", "numeric", "scale", "compound", "hashed", "longitudinal", "finite-field"]) {
    const text = readFileSync(new URL(`../src/${file}.js`, import.meta.url), "utf8");
    assert.doesNotMatch(text, /\bif \(source\.|source\.(coin|below)\([^)]*\) (\?(?!\?)|&&|\|\|)|\btruth \?|if \(truth/);
  }
});
