// @ts-check
// Picks turns to be dropped from the middle: by click, by Shift and click, or by dragging from one
// turn to another. What the drop saves and costs is shown before anything is changed.
import { $, agent, announce, fill, getText, say } from './page.js';
import { shown } from './timeline.js';
import { submit } from './composer.js';

const rows = $('rows');
/** @type {Set<string>} */
const picked = new Set();
let anchor = '', isDragging = false, asked = 0;

/** @param {Element | null} row @returns {string} The turn of a row; '' if it has none or is out of view. */
function turnOf(row) {
  while (row && !(/** @type {HTMLElement} */ (row).dataset.turn)) row = row.previousElementSibling;
  return row && !row.classList.contains('out') ? /** @type {HTMLElement} */ (row).dataset.turn || '' : '';
}

/** The turns in view from one to another. @param {string} one @param {string} other */
function range(one, other) {
  const all = [...rows.querySelectorAll(':scope > [data-turn]:not(.out)')].map((each) => each.dataset.turn);
  const ends = [all.indexOf(one), all.indexOf(other)].sort((a, b) => a - b);
  return ends[0] < 0 ? [other] : all.slice(ends[0], ends[1] + 1);
}

/** Marks the rows that would leave. */
function mark() {
  let leaves = false;
  for (const row of rows.children) {
    if (row.dataset.turn) leaves = picked.has(row.dataset.turn);
    row.classList.toggle('picked', leaves && !row.classList.contains('out'));
  }
  for (const each of rows.querySelectorAll('[data-pick]')) each.setAttribute('aria-pressed', String(picked.has(each.dataset.pick)));
}

async function show() {
  mark();
  $('picked').hidden = !picked.size;
  asked += 1;
  $('saves').replaceChildren();
  if (!picked.size) return;
  $('drop').textContent = picked.size === 1 ? 'Drop 1 turn' : `Drop ${picked.size} turns`;
  const now = asked;
  try {
    const html = await getText(`/page/${encodeURIComponent(agent)}/drop?turns=${encodeURIComponent([...picked].join(' '))}`);
    if (now !== asked) return;
    fill($('saves'), html);
    announce($('saves').textContent || '');
  } catch (error) { say(/** @type {Error} */ (error).message, true); }
}

/** Picks these turns and no others. @param {string[]} turns */
export function pick(turns) {
  picked.clear();
  for (const each of turns) picked.add(each);
  show();
}

/** Picks a turn, or picks it no longer. @param {string} turn */
function toggle(turn) {
  anchor = turn;
  if (!picked.delete(turn)) picked.add(turn);
  show();
}

/** Picks the turn of a row. @param {Element | null} row */
export function pickRow(row) { if (turnOf(row)) toggle(turnOf(row)); }

/** Picks nothing any more. Returns whether anything was picked. */
export function unpick() {
  const some = picked.size > 0;
  pick([]);
  return some;
}

async function drop() {
  const priced = $('saves').querySelector('[data-line]'), line = priced?.dataset.line || `/drop ${[...picked].join(' ')}`;
  pick([]);
  await submit(line);
}

if (rows) {
  shown.push(mark);
  rows.addEventListener('pointerdown', (/** @type {any} */ event) => {
    const from = event.target.closest('[data-pick]');
    if (!from || event.button || event.shiftKey) return;
    anchor = from.dataset.pick;
    isDragging = true;
    if (event.pointerType !== 'mouse') from.releasePointerCapture?.(event.pointerId);
  });
  rows.addEventListener('pointerover', (/** @type {any} */ event) => {
    if (!isDragging) return;
    const turn = turnOf(event.target.closest('#rows > article'));
    if (!turn || turn === anchor && !picked.size) return;
    const wanted = range(anchor, turn);
    if (wanted.length > 1 || picked.size > 1) pick(wanted);
  });
  for (const end of ['pointerup', 'pointercancel']) document.addEventListener(end, () => { isDragging = false; });
  document.addEventListener('click', (/** @type {any} */ event) => {
    const one = event.target.closest('[data-pick]'), some = event.target.closest('[data-picks]');
    if (one && event.shiftKey && anchor) pick([...picked, ...range(anchor, one.dataset.pick)]);
    else if (one) toggle(one.dataset.pick);
    else if (some) pick(some.dataset.picks.split(' '));
    else if (event.target.closest('#drop')) drop();
    else if (event.target.closest('#unpick')) unpick();
  });
}
