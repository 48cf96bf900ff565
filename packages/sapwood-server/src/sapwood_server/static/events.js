// @ts-check
// Follows the events of the conversation. After a break it continues exactly where it was.
import { $, agent } from './page.js';

const link = $('link');
/** The id of the last message: a version, or in the middle of a reply `VERSION.SIZE`. */
let last = '0', paused = false;
/** @type {AbortController | null} */
let current = null;

/** @param {string} words @param {string} colour @param {string} sign */
function showLink(words, colour, sign) {
  link.className = `row-x num ${colour}`;
  link.firstElementChild.textContent = sign;
  link.lastElementChild.textContent = words;
}

/** Calls `on` with each event: its kind, its value. A `wait` is no event of the log: the provider is asked again soon. @param {string} after @param {(kind: string, value: any) => void} on */
export async function follow(after, on) {
  last = after;
  let pause = 300;
  for (;;) {
    current = new AbortController();
    try {
      const answer = await fetch(`/v1/agents/${encodeURIComponent(agent)}/events`, {
        headers: { 'Last-Event-ID': last, Accept: 'text/event-stream' }, signal: current.signal, cache: 'no-store',
      });
      if (answer.status === 401 || answer.status === 404) { showLink('signed out', 'bad', '✗'); return; }
      if (!answer.ok || !answer.body) throw new Error(String(answer.status));
      showLink('live', 'ok', '●');
      pause = 300;
      await read(answer.body.getReader(), on);
    } catch { /* shown below, tried again */ }
    if (paused) {
      showLink('paused', 'faint', '○');
      await new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }));
      paused = false;
      continue;
    }
    showLink(navigator.onLine ? 'reconnecting' : 'offline', 'warn', '○');
    await new Promise((done) => { setTimeout(done, pause); addEventListener('online', done, { once: true }); });
    pause = Math.min(5000, pause * 2);
  }
}

/** Whether an id comes after another. The parts are whole numbers: 7.20 comes after 7.9. @param {string} id @param {string} other */
function isAfter(id, other) {
  const [version, size = 0] = id.split('.').map(Number), [otherVersion, otherSize = 0] = other.split('.').map(Number);
  return version > otherVersion || (version === otherVersion && size > otherSize);
}

/** A defect in what an event does must not end the stream: the same event would come again. @param {(kind: string, value: any) => void} on @param {string} kind @param {any} value */
function tryOn(on, kind, value) { try { on(kind, value); } catch (error) { reportError(error); } }

/** @param {ReadableStreamDefaultReader<Uint8Array>} reader @param {(kind: string, value: any) => void} on */
async function read(reader, on) {
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() || '';
    for (const block of blocks) {
      if (block.startsWith(': wait ')) { tryOn(on, 'wait', JSON.parse(block.slice(7))); continue; }
      /** @type {Record<string, string>} */
      const field = {};
      for (const line of block.split('\n')) {
        const colon = line.indexOf(': ');
        if (colon > 0) field[line.slice(0, colon)] = line.slice(colon + 2);
      }
      if (field.id && !isAfter(field.id, last)) continue;
      if (field.id) last = field.id;
      if (field.data) tryOn(on, field.event, JSON.parse(field.data));
    }
  }
}

// A hidden page gives its connection back: browsers allow only a few for each server.
let hiding = 0;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => { paused = true; current?.abort(); }, 60_000);
});
addEventListener('offline', () => { showLink('offline', 'warn', '○'); current?.abort(); });
