// @ts-check
// Moves the head, where the context begins, by hand: by dragging or with the arrow keys, by whole
// turns. Tokens and price are shown before anything is changed. Enter trims, Escape leaves it.
import { $, agent, announce, getJson, money, say, tokens } from './page.js';
import { goTo, shown, state, still } from './timeline.js';
import { submit } from './composer.js';
import { advice } from './context.js';

const bar = $('head'), feed = $('feed'), rows = $('rows'), grip = bar?.querySelector('.grip');
/** @type {any} */
let plan = null;
let at = 0;

/** @param {string} turn @returns {HTMLElement | null} */
const rowOf = (turn) => rows.querySelector(`:scope > [data-turn="${CSS.escape(turn)}"]`);
const isBlocked = () => !$('interrupt').hidden;

/** Shows the head before a turn, or where it is now. @param {string} turn */
export async function openHead(turn = '') {
  if (!bar || !agent) return;
  plan = await getJson(`/v1/agents/${encodeURIComponent(agent)}/cuts`);
  if (plan.cuts.length < 2) { say('There is nothing to cut: fewer than two turns are in view.', true); return; }
  at = Math.max(0, plan.cuts.findIndex((/** @type {any} */ cut) => cut.turn === turn));
  state.following = false;
  still(() => { bar.hidden = false; });
  await moveTo(at);
  grip.focus({ preventScroll: true });
}

export function closeHead() {
  if (!plan) return;
  plan = null;
  still(() => { bar.hidden = true; });
  for (const row of rows.children) row.classList.remove('leaving');
}

/** @param {number} place */
async function moveTo(place) {
  at = Math.max(0, Math.min(plan.cuts.length - 1, place));
  const { turn } = plan.cuts[at];
  if (!rowOf(turn)) await goTo(`turn-${turn}`);
  const row = rowOf(turn), view = feed.getBoundingClientRect(), box = row?.getBoundingClientRect();
  if (row && box && (box.top < view.top + 60 || box.top > view.bottom - 80)) row.scrollIntoView({ block: 'center' });
  draw();
  grip.focus({ preventScroll: true });
}

/** Puts the bar at its row and says what the cut would do. */
function draw() {
  if (!plan) return;
  const cut = plan.cuts[at], row = rowOf(cut.turn), first = rowOf(plan.cuts[0].turn);
  if (row) bar.style.top = `${row.getBoundingClientRect().top - feed.getBoundingClientRect().top + feed.scrollTop - 34}px`;
  let leaves = !first;
  for (const each of rows.children) {
    if (each === first) leaves = true;
    if (each === row) leaves = false;
    each.classList.toggle('leaving', leaves && at > 0);
  }
  const words = at ? `${at} ${at === 1 ? 'turn removed' : 'turns removed'}` : 'nothing is removed';
  bar.querySelector('b').textContent = `head before #${cut.turn}`;
  bar.querySelector('.what').textContent = at
    ? `${words} · ${change(plan.total, cut.total)} · ${money(cut.once)} once, then ${money(cut.later)}`
    : `${words} · ${tokens(plan.total)} · next call ${money(plan.now)}`;
  const trim = bar.querySelector('[data-trim]');
  trim.disabled = !at || isBlocked();
  trim.title = cut.line;
  bar.title = isBlocked() ? 'A turn is open. Wait until it ends, or interrupt it.' : at ? advice(plan, cut) : '';
  grip.setAttribute('aria-valuemax', String(plan.cuts.length - 1));
  grip.setAttribute('aria-valuenow', String(at));
  grip.setAttribute('aria-valuetext', `before turn ${cut.turn}, ${bar.querySelector('.what').textContent}`);
}

/** Tokens now and after; one figure if they look alike. @param {any} now @param {any} after */
function change(now, after) {
  const shown = tokens(now), then = tokens(after);
  return shown === then ? then : `${shown} → ${then}`;
}

async function commit() {
  if (!at) return;
  if (isBlocked()) { say('A turn is open. Wait until it ends, or interrupt it.', true); return; }
  const { line } = plan.cuts[at];
  closeHead();
  await submit(line);
}

if (bar) {
  shown.push(draw);
  bar.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, PageUp: -5, PageDown: 5 }[event.key];
    if (event.target !== grip && event.key !== 'Escape') return;
    if (step) moveTo(at + step);
    else if (event.key === 'Home') moveTo(0);
    else if (event.key === 'End') moveTo(plan.cuts.length - 1);
    else if (event.key === 'Enter') commit();
    else if (event.key === 'Escape') { closeHead(); feed.focus({ preventScroll: true }); announce('The head was not moved.'); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  bar.addEventListener('click', (/** @type {any} */ event) => {
    if (event.target.closest('[data-trim]')) commit();
    if (event.target.closest('[data-leave]')) closeHead();
  });
  bar.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
    if (/** @type {any} */ (event.target).closest('button')) return;
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
    bar.classList.add('drags');
  });
  bar.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
    if (!bar.classList.contains('drags')) return;
    const view = feed.getBoundingClientRect();
    if (event.clientY < view.top + 40) feed.scrollTop -= 24;
    if (event.clientY > view.bottom - 40) feed.scrollTop += 24;
    let best = at, distance = Infinity;
    plan.cuts.forEach((/** @type {any} */ cut, /** @type {number} */ number) => {
      const box = rowOf(cut.turn)?.getBoundingClientRect();
      if (box && Math.abs(box.top - event.clientY) < distance) { best = number; distance = Math.abs(box.top - event.clientY); }
    });
    at = best;
    draw();
  });
  for (const end of ['pointerup', 'pointercancel']) {
    bar.addEventListener(end, () => {
      if (!bar.classList.contains('drags')) return;
      bar.classList.remove('drags');
      grip.focus({ preventScroll: true });
      announce('Press Enter to trim here, or Escape to cancel.');
    });
  }
}
