/** Rules for the client, its tests and the pages. ESLint runs at the top of the repository: see `npm run lint`. */

import js from "@eslint/js";
import globals from "globals";

const RULES = {
  eqeqeq: "error",
  "no-console": "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-shadow": "error",
  "no-var": "error",
  "object-shorthand": "error",
  "prefer-const": "error",
  // Fields that are taken out of an object so that the others are left, and arguments before the one that is used.
  "no-unused-vars": ["error", { ignoreRestSiblings: true, argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
};

export default [
  { ignores: ["clients/js/node_modules/**", "clients/js/sottovoce.js", "clients/js/chances.js"] },
  js.configs.recommended,
  { languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser }, rules: RULES },
  {
    files: ["clients/js/test/**", "clients/js/*.config.js"],
    languageOptions: { globals: globals.node },
    rules: { "no-console": "off", "no-shadow": "off" },
  },
];
