// @ts-check
// What every part of the page uses: elements, requests, HTML from the server, announcements.

const policy = globalThis.trustedTypes
  ? globalThis.trustedTypes.createPolicy('sapwood', { createHTML: (/** @type {string} */ html) => html })
  : { createHTML: (/** @type {string} */ html) => html };

export const body = document.body;
export const agent = body.dataset.agent || '';

/** @param {string} id @returns {any} */
export const $ = (id) => document.getElementById(id);

/** HTML that the server rendered and escaped. @param {string} html */
export function fragment(html) {
  const template = document.createElement('template');
  template.innerHTML = /** @type {any} */ (policy.createHTML(html));
  return template.content;
}

/** Puts HTML of the server into an element. @param {Element} element @param {string} html */
export function fill(element, html) { element.replaceChildren(fragment(html)); }

/** What each element was filled with. @type {WeakMap<Element, string>} */
const filled = new WeakMap();
/** Fills an element again if its content is another one. Not while it is pressed: the click would be lost.
 * @param {HTMLElement} element @param {string} html */
export function refill(element, html) {
  if (filled.get(element) === html) return;
  if (element.matches(':active')) { setTimeout(() => refill(element, html), 100); return; }
  filled.set(element, html);
  fill(element, html);
}

/** A request; if nothing answers, the error says so in plain words. @param {string} path @param {RequestInit} options */
async function ask(path, options) {
  try { return await fetch(path, options); }
  catch { throw new Error('The server does not answer. Is it running? What you wrote is kept.'); }
}

/** @param {string} path */
export async function getText(path) {
  const answer = await ask(path, {}); // a problem comes as JSON unless a browser opens the address
  if (answer.status === 401) { location.reload(); }
  if (answer.status === 204) return '';
  if (!answer.ok) throw await problem(answer);
  return answer.text();
}

/** @param {string} path */
export async function getJson(path) {
  const answer = await ask(path, { headers: { Accept: 'application/json' } });
  if (!answer.ok) throw await problem(answer);
  return answer.json();
}

/** @param {string} path @param {object} value */
export async function post(path, value) {
  const answer = await ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(value) });
  if (!answer.ok) throw await problem(answer);
  return answer.json();
}

/** @param {string} path @param {Blob} content */
export async function upload(path, content) {
  const answer = await ask(path, { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: content });
  if (!answer.ok) throw await problem(answer);
  return answer.json();
}

/** The error of a problem document: its sentence. @param {Response} answer */
async function problem(answer) {
  const found = await answer.json().catch(() => ({}));
  const error = new Error(found.detail || `The server answered ${answer.status}.`);
  return Object.assign(error, { status: answer.status, failure: found.failure, again: found.again });
}

/** Returns a function that runs what it is given one after the other. @returns {<T>(run: () => Promise<T>) => Promise<T>} */
export function inOrder() {
  let last = Promise.resolve();
  return (run) => { const mine = last.then(run); last = mine.then(() => {}, () => {}); return mine; };
}

/** Shows a sentence above the composer. @param {string} words @param {boolean} refused */
export function say(words, refused = false) {
  const line = $('says');
  if (!line) return;
  line.textContent = words;
  line.classList.toggle('refused', refused);
}

/** Tells a screen reader something. @param {string} words */
export function announce(words) { $('live').textContent = words; }

/** Runs a function soon, once for many calls. @param {() => any} run @param {number} wait */
export function soon(run, wait) {
  let timer = 0, busy = false, again = false;
  const go = async () => {
    timer = 0;
    if (busy) { again = true; return; }
    busy = true;
    try { await run(); } catch { /* the next event tries again */ }
    busy = false;
    if (again) { again = false; call(); }
  };
  const call = () => { if (!timer) timer = setTimeout(go, wait); };
  return call;
}

/** Money in millionths of a dollar, as all faces show it. @param {number | null} cost */
export function money(cost) {
  if (cost === null) return 'unknown';
  if (!cost) return '$0';
  const dollars = cost / 1e6;
  return dollars >= 0.1 ? `$${dollars.toFixed(2)}` : `$${dollars.toFixed(4)}`;
}

/** Tokens, as all faces show them. @param {{tokens: number, exact: boolean}} count */
export function tokens(count) {
  const n = count.tokens, about = count.exact ? '' : '~';
  if (n < 1000) return about + n;
  if (n < 10_000) return about + (n / 1000).toFixed(1) + 'k';
  if (n < 1_000_000) return about + Math.round(n / 1000) + 'k';
  return about + (n / 1e6).toFixed(1) + 'M';
}

/** Brings every time of the page up to date. */
export function tick() {
  for (const each of document.querySelectorAll('time[data-clock]')) {
    const words = new Date(Number(/** @type {HTMLElement} */ (each).dataset.clock)).toLocaleTimeString();
    if (each.textContent !== words) each.textContent = words;
  }
  for (const each of document.querySelectorAll('time[data-at]')) {
    const seconds = Math.max(0, (Date.now() - Number(/** @type {HTMLElement} */ (each).dataset.at)) / 1000);
    const unit = [[86400, 'd'], [3600, 'h'], [60, 'min']].find(([size]) => seconds >= Number(size));
    const words = unit ? `${Math.floor(seconds / Number(unit[0]))} ${unit[1]} ago` : 'just now';
    if (each.textContent !== words) each.textContent = words;
  }
}
