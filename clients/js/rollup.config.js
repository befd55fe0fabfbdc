/**
 * How `npm run build` makes the files that a page loads of the modules in src/: `sottovoce.js`, as small as can be, and
 * `chances.js`, which loads it and holds no second copy of it.
 */

import { fileURLToPath } from "node:url";

import { minify } from "terser";

/** Only what keeps the order of all calls: the draws of a report must come in the order of the modules. */
const OPTIONS = {
  module: true,
  ecma: 2022,
  compress: { passes: 3, inline: 1, lhs_constants: false, sequences: false },
  format: { preamble: "// sottovoce, Apache-2.0" },
};

const small = { name: "terser", renderChunk: async (code) => ({ ...(await minify(code, OPTIONS)), map: null }) };
const index = fileURLToPath(new URL("src/index.js", import.meta.url));

export default [
  { input: "src/index.js", output: { dir: ".", entryFileNames: "sottovoce.js" }, plugins: [small] },
  {
    input: "src/chances.js",
    external: [index],
    output: { dir: ".", entryFileNames: "chances.js", paths: { [index]: "./sottovoce.js" } },
    plugins: [small],
  },
];
