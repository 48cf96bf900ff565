// @ts-check
// The timeline: a window of rows between two spacers. Rows are rendered by the server.
// Law: no insert, expand, stream or resize moves the row that is being read.
import { $, agent, body, fragment, getJson, soon } from './page.js';

const PAGE = 60, MOST = 240, EDGE = 1500;
const feed = $('feed'), rows = $('rows'), above = $('above'), below = $('below');
const stream = $('stream'), latest = $('latest');

export const state = {
  first: Number(body.dataset.first), total: Number(body.dataset.total), version: Number(body.dataset.version),
  moved: Number(body.dataset.moved), complete: body.dataset.complete === 'true', following: true,
};
let average = 64, loading = false, unseen = 0, placing = 0, waiting = false, missed = false;
/** Folds that this tab has opened, with how many rows of each. @type {Map<string, number>} */
const folds = new Map(JSON.parse(sessionStorage.getItem(`folds:${agent}`) || '[]'));
/** What the reader opened or closed, by row. @type {Map<string, boolean>} */
const toggles = new Map();
/** The HTML of each mounted row. @type {WeakMap<Element, string>} */
const source = new WeakMap();

const path = (/** @type {Record<string, any>} */ query) => `/page/${encodeURIComponent(agent)}/rows?${new URLSearchParams(query)}`;
const count = () => rows.childElementCount;
const isAtEnd = () => feed.scrollHeight - feed.scrollTop - feed.clientHeight < 32;
/** @param {string} key @returns {HTMLElement | null} */
const rowOf = (key) => rows.querySelector(`:scope > [data-key="${CSS.escape(key)}"]`);

/** The row at the top edge, and how far below the edge it begins. */
function anchor() {
  const top = feed.getBoundingClientRect().top;
  for (const row of rows.children) {
    const box = row.getBoundingClientRect();
    if (box.bottom > top) {
      for (const inner of row.querySelectorAll('.inside > [data-key]')) {
        const place = inner.getBoundingClientRect();
        if (box.top < top && place.bottom > top) return { key: inner.dataset.key, inside: true, offset: place.top - top };
      }
      return { key: row.dataset.key, inside: false, offset: box.top - top };
    }
  }
  return null;
}

/** Changes the rows and keeps what is being read where it is. @param {() => void} change */
export function still(change) {
  const follows = state.following && !hasLeftEnd(), at = follows ? null : anchor();
  change();
  measure();
  if (follows) { toEnd(); return; }
  const row = at && (at.inside ? document.getElementById(at.key) : rowOf(at.key));
  if (row) scrollBy(row.getBoundingClientRect().top - feed.getBoundingClientRect().top - at.offset);
  showLatest();
}

/** The way to the end is shown while there is something below. */
function showLatest() {
  latest.hidden = state.following || isAtEnd() && state.first + count() >= state.total;
  latest.lastElementChild.textContent = unseen ? 'new below' : 'latest';
}

/** Where the end was. Nothing but the reader scrolls up from there: the feed has no scroll anchoring. */
let bottom = 0;
const hasLeftEnd = () => !isAtEnd() && feed.scrollTop < bottom - 1;

/** @param {number} by */
function scrollBy(by) { if (Math.abs(by) > 0.5) { placing += 1; feed.scrollTop += by; requestAnimationFrame(() => { placing -= 1; }); } }

export function toEnd() {
  state.following = true;
  placing += 1;
  feed.scrollTop = feed.scrollHeight;
  bottom = feed.scrollTop;
  requestAnimationFrame(() => { placing -= 1; });
  unseen = 0;
  latest.hidden = true;
}

/** Gives the spacers the height of the rows that are not mounted. */
function measure() {
  const shown = count();
  if (shown) average = Math.max(24, rows.getBoundingClientRect().height / shown);
  above.style.height = `${Math.round(state.first * average)}px`;
  below.style.height = `${Math.round(Math.max(0, state.total - state.first - shown) * average)}px`;
}

/** @param {{key: string, html: string}[]} list @param {number} first */
function place(list, first) {
  const known = new Map([...rows.children].map((row) => [row.dataset.key, row]));
  const wanted = list.map((each) => {
    const there = known.get(each.key);
    if (there && (!each.html || source.get(there) === each.html)) return there;
    if (!each.html) return null;
    const row = /** @type {HTMLElement} */ (fragment(each.html).firstElementChild);
    source.set(row, each.html);
    if (there) { there.replaceWith(row); }
    dress(row);
    return row;
  });
  if (wanted.includes(null)) return false;
  state.first = first;
  if (wanted.length) { rows.setAttribute('role', 'feed'); rows.setAttribute('aria-label', 'Timeline'); } // a feed has articles
  let next = rows.firstElementChild;
  for (const row of wanted) {
    if (row === next) { next = next.nextElementSibling; } else { rows.insertBefore(row, next); }
  }
  while (next) { const gone = next; next = next.nextElementSibling; gone.remove(); }
  const total = String(state.total);
  let number = first;
  for (const row of rows.children) {
    const place = String(number += 1);
    if (row.ariaPosInSet !== place) row.ariaPosInSet = place;
    if (row.ariaSetSize !== total) row.ariaSetSize = total;
  }
  return true;
}

/** Restores what the reader opened in a row. @param {HTMLElement} row */
function dress(row) {
  row.querySelectorAll('details').forEach((each, number) => {
    const open = toggles.get(`${row.dataset.key}:${number}`);
    if (open !== undefined) each.open = open;
  });
  const fold = /** @type {HTMLElement | null} */ (row.querySelector('[data-fold]'));
  if (fold && folds.has(fold.dataset.fold || '')) openFold(fold, folds.get(fold.dataset.fold || ''));
}

/** Takes in an answer of the server. @param {any} found */
function take(found) {
  const grew = found.version > state.version;
  if (grew && !state.following) { unseen += 1; }
  Object.assign(state, { total: found.total, version: found.version, moved: found.moved, complete: found.complete });
}

/** Reads the rows again after an event. */
async function refresh() {
  const limit = Math.max(PAGE, Math.min(MOST, count() + 20));
  const query = { known: state.version, moved: state.moved, limit };
  const at = state.following ? null : anchor();
  let found = await getJson(path(state.following ? query : { ...query, first: state.first }));
  if (at && found.moved !== state.moved) found = await getJson(path({ limit, around: at.key }));
  still(() => { take(found); if (!place(found.rows, found.first)) again(); });
  onShown();
  if (!found.complete) setTimeout(update, 250);
}
const again = () => { state.moved = -1; update(); };
export const update = soon(refresh, 30);
/** Functions to call after rows were shown. @type {(() => void)[]} */
export const shown = [];
function onShown() { for (const each of shown) each(); }

/** Loads rows where the reader has scrolled to: only those that are not mounted. */
async function scrolled() {
  if (loading) { missed = true; return; }
  if (!count()) return;
  const box = rows.getBoundingClientRect(), view = feed.getBoundingClientRect();
  const start = state.first, end = start + count(), { moved } = state;
  let query = null, where = '';
  if (box.bottom < view.top || box.top > view.bottom) {
    query = { first: Math.max(0, Math.floor(feed.scrollTop / average) - PAGE / 2), limit: PAGE };
  } else if (box.top > view.top - EDGE && start > 0) {
    const first = Math.max(0, start - PAGE);
    query = { first, limit: start - first };
    where = 'above';
  } else if (box.bottom < view.bottom + EDGE && end < state.total) {
    query = { first: end, limit: PAGE };
    where = 'below';
  }
  if (!query) return;
  loading = true;
  try {
    const found = await getJson(path(query));
    if (where && (found.moved !== moved || state.moved !== moved || state.first !== start || start + count() !== end)) { update(); return; }
    still(() => {
      if (!where) { take(found); place(found.rows, found.first); return; }
      const there = [...rows.children].map((row) => ({ key: row.dataset.key || '', html: '' }));
      const over = Math.max(0, there.length + found.rows.length - MOST);
      state.total = found.total;
      if (where === 'above') place([...found.rows, ...there.slice(0, there.length - over)], found.first);
      else place([...there.slice(over), ...found.rows], start + over);
    });
    onShown();
  } finally {
    loading = false;
    if (missed) { missed = false; scrolled(); } // the reader went on meanwhile
  }
}

export async function goTo(/** @type {string} */ key) {
  state.following = false;
  const found = await getJson(path({ around: key, limit: PAGE }));
  take(found);
  place(found.rows, found.first);
  measure();
  const target = found.target || key, fold = found.fold && rowOf(found.fold);
  if (fold) await openFold(fold.querySelector('[data-fold]'), found.inside || 100);
  const row = document.getElementById(target) || fold;
  if (row) { row.scrollIntoView({ block: 'center' }); row.focus({ preventScroll: true }); row.classList.add('found'); }
  showLatest();
}

// Folds: opened in place, downwards, a hundred rows at a time.
/** @param {any} button @param {number} wanted */
async function openFold(button, wanted = 100) {
  const key = button.dataset.fold, inside = button.closest('article').querySelector('.inside');
  const found = await getJson(path({ fold: key, first: 0, limit: Math.min(400, wanted) }));
  state.following = false;
  still(() => {
    inside.replaceChildren(...found.rows.map((/** @type {any} */ each) => fragment(each.html)));
    if (found.rows.length < found.total) {
      const more = document.createElement('button');
      more.className = 'btn bare sm more';
      more.textContent = `▾ ${found.total - found.rows.length} more rows`;
      more.onclick = () => openFold(button, found.rows.length + 100);
      inside.append(more);
    }
    inside.hidden = false;
    button.setAttribute('aria-expanded', 'true');
    button.querySelector('.tri').textContent = '▾';
  });
  folds.set(key, wanted);
  keepFolds();
}

/** @param {any} button */
function closeFold(button) {
  state.following = false;
  still(() => {
    const inside = button.closest('article').querySelector('.inside');
    inside.hidden = true;
    inside.replaceChildren();
    button.setAttribute('aria-expanded', 'false');
    button.querySelector('.tri').textContent = '▸';
  });
  folds.delete(button.dataset.fold);
  keepFolds();
}
const keepFolds = () => sessionStorage.setItem(`folds:${agent}`, JSON.stringify([...folds]));

export function toggleFold(/** @type {any} */ button) {
  return button.getAttribute('aria-expanded') === 'true' ? closeFold(button) : openFold(button);
}

// Words of a reply that is still arriving.
/** @param {string} model */
export function startStream(model) {
  const row = fragment('<article class="row reply streaming" aria-busy="true"><div class="gut"><span class="ok"><abbr></abbr></span></div><div class="body"><div class="words"></div><span class="caret" aria-hidden="true"></span></div></article>');
  const name = model.split(':').pop() || 'model';
  const short = /^claude-(?!code)/.test(name) ? name.split('-')[1] : name.replace(/-code$/, '');
  const label = /** @type {any} */ (row.querySelector('abbr'));
  [label.title, label.textContent] = [name, short.slice(0, 9)];
  still(() => stream.replaceChildren(row));
  rows.setAttribute('aria-busy', 'true');
}

/** @param {{kind: string, text: string, name?: string}} delta */
export function addDelta(delta) {
  if (!stream.firstElementChild) startStream('');
  const words = stream.querySelector('.words');
  still(() => {
    if (delta.kind === 'text') words.append(delta.text);
    else if (delta.kind === 'call') words.append(`\n→ ${delta.name}`);
  });
}

export function endStream() {
  if (!stream.firstElementChild) return;
  still(() => stream.replaceChildren());
  rows.setAttribute('aria-busy', 'false');
}

// Keys: to the next row, to the one before, to open one.
/** @param {number} step */
export function moveFocus(step) {
  const all = [...feed.querySelectorAll('article[data-key]')].filter((each) => each.offsetParent);
  const now = document.activeElement && all.indexOf(/** @type {any} */ (document.activeElement).closest('article[data-key]'));
  const from = now === null || now < 0 ? (step > 0 ? all.findIndex((each) => each.getBoundingClientRect().top >= feed.getBoundingClientRect().top) - 1 : all.length) : now;
  const next = all[Math.max(0, Math.min(all.length - 1, from + step))];
  if (next) { state.following = false; next.focus({ preventScroll: true }); next.scrollIntoView({ block: 'nearest' }); }
}

if (feed) {
  [...rows.children].forEach((row) => { source.set(row, ''); });
  feed.addEventListener('scroll', () => {
    if (state.following && !isAtEnd() && !hasLeftEnd()) {
      toEnd(); // what is shown has grown, or the window is smaller
    } else if (state.following || !placing) {
      state.following = isAtEnd() && state.first + count() >= state.total;
      if (state.following) { unseen = 0; bottom = feed.scrollTop; }
      showLatest();
    }
    if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; scrolled(); }); }
  }, { passive: true });
  feed.addEventListener('toggle', (/** @type {any} */ event) => {
    const row = event.target.closest('article[data-key]');
    if (!row || event.target.tagName !== 'DETAILS') return;
    const number = [...row.querySelectorAll('details')].indexOf(event.target);
    toggles.set(`${row.dataset.key}:${number}`, event.target.open);
  }, true);
  feed.addEventListener('click', (/** @type {any} */ event) => {
    const summary = event.target.closest('summary');
    if (summary) state.following = false;
    const fold = event.target.closest('[data-fold]');
    if (fold) toggleFold(fold);
  });
  latest.addEventListener('click', async () => {
    if (state.first + count() < state.total) {
      const found = await getJson(path({ limit: PAGE }));
      take(found);
      place(found.rows, found.first);
      measure();
    }
    toEnd();
  });
  new ResizeObserver(() => { if (state.following && !hasLeftEnd()) toEnd(); }).observe(feed);
  measure();
  toEnd();
  for (const row of rows.children) dress(row);
  if (!state.complete) requestAnimationFrame(() => setTimeout(update));  // after the first paint
}
