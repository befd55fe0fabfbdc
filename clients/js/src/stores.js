/**
 * Where a device keeps what it remembers: one value, changed by one method. `update(change)` calls `change` with the
 * value (undefined at first), which gives the new value and a result, at once. The result is handed out when the new
 * value is safe. If `change` throws, nothing has happened.
 */

import { SottovoceError, StoreError } from "./errors.js";

const TABLE = "store";

const failed = (error) =>
  error instanceof SottovoceError ? error : new StoreError(`the store failed: ${error?.message}`);

/** In the browser's database, shared by all pages of one origin. */
export class IndexedStore {
  constructor(name = "sottovoce") {
    this.name = name;
  }

  async update(change) {
    const database = await new Promise((resolve, reject) => {
      const request = globalThis.indexedDB.open(this.name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(failed(request.error));
    });
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(TABLE, "readwrite", { durability: "strict" });
      const table = transaction.objectStore(TABLE);
      const request = table.get(TABLE);
      let state, result, error;
      request.onsuccess = () => {
        try {
          [state, result] = change(request.result);
          table.put(state, TABLE);
        } catch (thrown) {
          error = thrown;
          transaction.abort();
        }
      };
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(failed(error ?? transaction.error));
    }).finally(() => database.close());
  }
}

/** In memory, until the program ends: for tests, and for programs that keep `state` themselves. */
export class MemoryStore {
  constructor(state) {
    this.state = state;
  }

  async update(change) {
    const [state, result] = change(structuredClone(this.state));
    this.state = structuredClone(state);
    return result;
  }
}
