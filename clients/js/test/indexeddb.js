/**
 * As much of IndexedDB as a store needs, with its habits: a transaction ends by itself as soon as nothing is asked of
 * it, transactions on one table wait for one another, and values are cloned. `trouble` says what is to fail.
 */

class Request {
  settle(result) {
    this.result = result;
    this.onsuccess?.();
  }
}

class Transaction {
  constructor(database) {
    Object.assign(this, { database, pending: [], changes: new Map(), state: "active" });
  }

  objectStore() {
    const ask = (run) => {
      if (this.state !== "active") throw new DOMException("the transaction is over", "TransactionInactiveError");
      const request = new Request();
      this.pending.push(() => request.settle(run()));
      return request;
    };
    return {
      get: (key) => ask(() => structuredClone(this.changes.get(key) ?? this.database.values.get(key))),
      put: (value, key) => {
        const copy = structuredClone(value);
        return ask(() => this.changes.set(key, copy));
      },
    };
  }

  abort(error = null) {
    Object.assign(this, { state: "over", error });
    queueMicrotask(() => this.onabort?.());
  }

  async run() {
    while (this.pending.length && this.state === "active") {
      await null;
      this.pending.shift()();
    }
    if (this.state !== "active") return;
    const trouble = this.database.owner.trouble;
    if (trouble === "full") return this.abort(new DOMException("there is no space left", "QuotaExceededError"));
    this.state = "over";
    for (const [key, value] of this.changes) this.database.values.set(key, value);
    if (trouble !== "crash") this.oncomplete?.();
  }
}

class Database {
  constructor(owner, name) {
    Object.assign(this, { owner, name, values: owner.disks.get(name), tables: owner.tables });
  }

  createObjectStore(table) {
    this.tables.add(`${this.name}/${table}`);
  }

  transaction(table, mode, options) {
    if (!this.tables.has(`${this.name}/${table}`)) throw new DOMException("no such table", "NotFoundError");
    if (mode !== "readwrite" || options.durability !== "strict") throw new Error("a ledger is written, and strictly");
    const transaction = new Transaction(this);
    this.owner.turn = this.owner.turn.then(() => new Promise(setImmediate)).then(() => transaction.run());
    return transaction;
  }

  close() {
    this.owner.closed++;
  }
}

export class IndexedDB {
  disks = new Map();
  tables = new Set();
  turn = Promise.resolve();
  trouble = null;
  opened = 0;
  closed = 0;

  open(name) {
    const request = new Request();
    setImmediate(() => {
      if (this.trouble === "closed") {
        request.error = new DOMException("the database cannot be opened", "UnknownError");
        return request.onerror();
      }
      const fresh = !this.disks.has(name);
      if (fresh) this.disks.set(name, new Map());
      request.result = new Database(this, name);
      if (fresh) request.onupgradeneeded();
      this.opened++;
      request.settle(request.result);
    });
    return request;
  }
}
