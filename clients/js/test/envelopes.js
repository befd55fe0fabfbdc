/** For each line of standard input what seal.js makes of it, for Python to compare: see tests/pages/test_seal_js.py. */

import { createInterface } from "node:readline";

import { openWith, paddedLength, seal, sealTo } from "../seal.js";
import { MemoryStore, Respondent, Survey } from "../sottovoce.js";

const bytes = (digits) => Uint8Array.from(Buffer.from(digits, "hex"));
const hex = (data) => Buffer.from(data).toString("hex");

const TASKS = {
  /** Answers to a survey with a shuffler: the text, its envelope, and to what length texts are padded. */
  async answer({ survey, answers, wave }) {
    const me = new Respondent({ store: new MemoryStore(), budget: 50 });
    const body = await me.answer(survey, answers, { wave });
    return { body, sealed: hex(await seal(survey, body)), length: paddedLength(new Survey(survey)) };
  },
  seal: async ({ key, message, info }) => hex(await sealTo(bytes(key), bytes(message), bytes(info))),
  open: async ({ key, sealed, info }) => hex(await openWith(bytes(key), bytes(sealed), bytes(info))),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...given } = JSON.parse(line);
  console.log(JSON.stringify(await TASKS[task](given)));
}
