/** What this browser remembers: the reports that it drew, what they cost, and which of them were acknowledged. */

import { IndexedStore, Respondent } from "./sottovoce.js";
import { seal } from "./seal.js";

const store = new IndexedStore();
const receipts = new IndexedStore("sottovoce-receipts");

export const me = new Respondent({ store });

/** What was drawn for a survey, by wave: reports that were charged to be sent, and drafts that were only shown. */
export async function drawn({ digest }) {
  await me.ledger(); // A store of a former version is brought up to date.
  return store.update((state) => [state, state.surveys[digest] ?? { reports: {}, drafts: {} }]);
}

/** When the collector acknowledged a report, or nothing. */
export const acknowledged = (report) => receipts.update((state) => [state, state?.acknowledged?.[report] ?? null]);

/** Remember that the collector has a report. */
export const acknowledge = (report) => keep("acknowledged", report, new Date().toISOString());

/** The envelope of a report: made once, and kept, since another one would be another report to the shuffler. */
export async function sealed(survey, report, body) {
  const known = await receipts.update((state) => [state, state?.sealed?.[report] ?? null]);
  return known ?? keep("sealed", report, await seal(survey, body));
}

/** Keep a value under a name, unless there is one already; the one that is kept. */
const keep = (table, name, value) =>
  receipts.update((state) => {
    const kept = state?.[table]?.[name] ?? value;
    return [{ ...state, [table]: { ...state?.[table], [name]: kept } }, kept];
  });
