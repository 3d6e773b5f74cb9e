// Requests to the server. Answers are JSON; an error is thrown as a Problem with the server's message.

const KEY = "gossamer-key";

let base = "/v1";
let unlock = null;
let kept = new Map();

export class Problem extends Error {
  constructor(status, message, requestId = "") {
    super(message);
    this.status = status;
    this.requestId = requestId;
  }
}

/** Choose the index by name; null is the server's first. */
export function use(name) {
  base = name ? `/v1/indexes/${encodeURIComponent(name)}` : "/v1";
  forget();
}

/** Set what is called when the server wants a key; it resolves to whether there is one now. */
export function onLocked(ask) {
  unlock = ask;
}

export const keepKey = (key) => sessionStorage.setItem(KEY, key);
export const hasKey = () => sessionStorage.getItem(KEY) !== null;

/** Empty the cache of concepts, which a change makes outdated. */
export function forget() {
  kept = new Map();
}

export const indexes = () => call("/v1/indexes");
export const info = () => call(`${base}/info`);
export const search = (asked, signal) => call(`${base}/search`, { body: asked, signal });
export const explain = (query, id, signal) => call(`${base}/explain`, { body: { query, id }, signal });
export const novelty = (query, signal) => call(`${base}/novelty`, { body: { query }, signal });
export const matches = (query, k, signal) => call(`${base}/concepts/find`, { body: { query, k }, signal });
export const facets = (asked, signal) => call(`${base}/facets`, { body: asked, signal });
export const changes = (start) => call(`${base}/changes?${new URLSearchParams(start)}`);
export const add = (document) => call(`${base}/documents`, { body: document });
export const remove = (id) => call(`${base}/documents/delete`, { body: { ids: [id] } });

export async function documentOf(id, signal) {
  return (await call(`${base}/documents/get`, { body: { ids: [id] }, signal })).documents[0];
}

/** Parts of the tree as columns, those below each of `roots`; none begins at the root of the tree. */
export function map({ roots, depth, limit }, signal) {
  const asked = new URLSearchParams({ depth, limit, labels: true });
  for (const root of roots) asked.append("root", root);
  return call(`${base}/map?${asked}`, { signal });
}

/** The points of the plane, as bytes. */
export const plane = (signal) => call(`${base}/plane`, { signal, as: "arrayBuffer" });
export const planeRegions = (level) => call(`${base}/plane/regions?level=${level}`);
export const planeDocuments = (asked) => call(`${base}/plane/documents`, { body: asked });

/** A concept with its children and its path. */
export const concept = (id) => keep(`${base}/concepts/${id}`);

/** The root and the concepts below it, which are the themes. */
export const themes = () => keep(`${base}/concepts?depth=1`);

/** The answer at an address, cached: hovering and going back ask for the same again. */
function keep(path) {
  if (!kept.has(path)) {
    const here = kept;
    const answer = call(path);
    here.set(path, answer);
    answer.catch(() => here.delete(path));
  }
  return kept.get(path);
}

async function call(path, { body, signal, as = "json" } = {}) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const response = await send(path, { method: text === undefined ? "GET" : "POST", body: text, signal });
  if (response.status === 401 && unlock !== null && (await unlock())) return call(path, { body, signal, as });
  if (!response.ok) throw await problemOf(response);
  return response[as]();
}

/** Send a request with the key, if there is one; `body` is JSON text. */
export async function send(path, { method, body, signal } = {}) {
  const headers = { Accept: "application/json, application/octet-stream" };
  if (hasKey()) headers.Authorization = `Bearer ${sessionStorage.getItem(KEY)}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method, headers, body, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "Is it running? Start it again with “gossamer serve”, and check the connection.");
  }
}

async function problemOf(response) {
  try {
    const told = await response.json();
    const detail = String(told.detail ?? response.statusText);
    return new Problem(response.status, detail.charAt(0).toUpperCase() + detail.slice(1) + ".", told.request_id);
  } catch {
    return new Problem(response.status, `The server answered ${response.status} ${response.statusText}.`);
  }
}

/** A function that runs `work(signal)` and aborts its previous run if that is still under way. */
export function latest() {
  let running = null;
  return async (work) => {
    running?.abort();
    const mine = (running = new AbortController());
    try {
      await work(mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) throw error;
    }
  };
}
