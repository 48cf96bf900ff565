// @ts-check
// The page of a conversation: joins timeline, events, composer, approvals, list, side and keys.
import { $, agent, announce, body, fill, getText, post, refill, say, soon, tick } from './page.js';
import { addDelta, endStream, goTo, moveFocus, shown, startStream, state, toEnd, toggleFold, update } from './timeline.js';
import { answers, interrupt, openWithDraft, refreshQueue, sayFailed, setOpen, submit, write } from './composer.js';
import { refreshQuestion } from './approval.js';
import { refreshContext, startContext } from './context.js';
import { follow } from './events.js';
import { closeHead, openHead } from './head.js';
import { pickRow, unpick } from './drops.js';
import { showSettings } from './options.js';
import './setup.js';
import './notify.js';

const view = body.dataset.view || 'timeline';
const page = (/** @type {string} */ rest) => `/page/${encodeURIComponent(agent)}/${rest}`;

const refreshSide = soon(async () => {
  if (!agent || !$('side')) return;
  const open = new Set([...$('side').querySelectorAll('details[open]')].map((each) => each.dataset.keep));
  refill($('side'), await getText(page('side')));
  for (const each of $('side').querySelectorAll('details[data-keep]')) each.open = open.has(each.dataset.keep);
  showWork();
}, 250);
/** What the agent works on, in one line above the message where the side is closed. */
function showWork() {
  const line = $('side')?.querySelector('[data-work]')?.dataset.work || '';
  if ($('work')) { $('work').textContent = line; $('work').hidden = !line; }
  showLimit(Number(/** @type {any} */ ($('side')?.querySelector('[data-limit]'))?.dataset.limit || 0));
}
/** When a limit of the provider resets, and what can be done about it. @param {number} at */
function showLimit(at) {
  const row = $('limit');
  if (!row) return;
  row.hidden = !at;
  row.firstElementChild.textContent = at ? `The limit of the provider resets at ${new Date(at).toLocaleTimeString()}. Then the turn is asked again, even if this page is closed.` : '';
}
/** An archived conversation has a way back in place of the composer. @param {boolean} archived */
function showArchived(archived) {
  if ($('archived')) { $('archived').hidden = !archived; $('composer').hidden = archived; say(''); }
}
let counting = 0;
/** Counts down to the next attempt of a model call. @param {{seconds: number, attempt: number, max_attempts: number, unreachable: boolean} | null} wait */
function showBusy(wait) {
  const row = $('busy');
  if (!row || (!wait && row.hidden)) return;
  clearInterval(counting);
  row.hidden = !wait;
  if (!wait) return;
  const what = wait.unreachable ? 'cannot be reached' : 'is busy';
  const attempt = `The provider ${what}: attempt ${wait.attempt} of ${wait.max_attempts}`, until = Date.now() + wait.seconds * 1000;
  const count = () => {
    const left = Math.ceil((until - Date.now()) / 1000);
    if (left > 0) row.firstElementChild.textContent = `${attempt} in ${left} s.`; else showBusy(null);
  };
  count();
  counting = setInterval(count, 250);
  announce(row.firstElementChild.textContent);
}
$('stop-waiting')?.addEventListener('click', async () => { await interrupt(); refreshSide(); });
const refreshList = soon(async () => {
  const html = await getText(`/page/list?agent=${encodeURIComponent(agent)}`);
  if (html === listed) return;
  const open = new Set([...$('list').querySelectorAll('details[open]')].map((each) => each.dataset.keep)), at = $('list').scrollTop;
  const focus = document.activeElement?.closest('#list .conv'), key = focus && /** @type {any} */ (focus).dataset.key;
  listed = html;
  fill($('list'), html);
  for (const each of $('list').querySelectorAll('details')) each.open = open.has(each.dataset.keep);
  if (key) $('list').querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  $('list').scrollTop = at;
  filter();
  tick();
  const here = $('list').querySelector('[aria-current=page] .nm'), title = document.querySelector('.crumb h1');
  const name = here?.lastChild?.textContent || '';
  if (title && name && title.textContent !== name) { title.textContent = name; document.title = `${name} · Sapwood`; }
}, 500);
let listed = '';

// Events.
const ENDS = { 'turn.completed': 'The turn ended.', 'turn.failed': 'The turn failed.', 'turn.interrupted': 'The turn was interrupted.' };
let clearing = false;
shown.push(tick, () => { if (clearing) { clearing = false; endStream(); } });

/** @param {string} kind @param {any} value */
function on(kind, value) {
  if (kind === 'wait') { showBusy(value); return; }
  if (kind === 'delta' || kind.startsWith('reply.') || kind in ENDS) showBusy(null); // `model.called` may come after the wait
  if (kind === 'delta') { if (view === 'timeline') addDelta(value); return; }
  if (kind === 'reply.streamed') return;
  if (view === 'timeline') {
    if (kind === 'model.called' && !value.data.instruction) startStream(value.data.model || '');
    if (kind === 'reply.added' || kind === 'reply.lost' || kind in ENDS) clearing = true;
    update();
  } else if (view === 'context') { refreshContextSoon(); }
  if (kind.startsWith('context.')) closeHead();
  if (kind.startsWith('prompt.')) refreshQueue();
  if (kind === 'settings.changed') showSettings(value.data.change);
  if (kind === 'turn.started') setOpen(true);
  if (kind === 'agent.archived' || kind === 'agent.unarchived') showArchived(kind === 'agent.archived');
  if (kind === 'agent.killed') openWithDraft(agent); // its composer forks
  if (kind in ENDS) { announce(ENDS[/** @type {keyof ENDS} */ (kind)]); setOpen(false, kind === 'turn.interrupted'); if (kind === 'turn.failed') sayFailed(value.data); }
  if (kind.startsWith('question.') || kind === 'tool.finished' || kind in ENDS) refreshQuestion();
  if (kind === 'agent.renamed' && document.querySelector('.crumb h1')) /** @type {any} */ (document.querySelector('.crumb h1')).textContent = value.data.name;
  refreshSide();
  refreshList();
}
const refreshContextSoon = soon(refreshContext, 300);

// The list: filter by program.
let program = '';
function filter() {
  for (const each of document.querySelectorAll('#list [data-program]')) {
    /** @type {any} */ (each).hidden = Boolean(program) && /** @type {any} */ (each).dataset.program !== program;
  }
}

// Clicks.
document.addEventListener('click', async (/** @type {any} */ event) => {
  const target = event.target;
  for (const each of document.querySelectorAll('details:is(.turn-menu, .why)[open]')) if (!each.contains(target) || target.closest('.popv')) /** @type {any} */ (each).open = false;
  const run = target.closest('[data-run]');
  if (run && run.dataset.run) {
    run.disabled = true;
    for (const line of run.dataset.run.split('\n')) if (!await submit(line)) break;
    run.disabled = false;
    if (view === 'context') refreshContextSoon();
    return;
  }
  const cuts = target.closest('[data-cut]');
  if (cuts) { openHead(cuts.dataset.cut); return; }
  const fills = target.closest('[data-fill]');
  if (fills) { if ($('message')) write(fills.dataset.fill); else location.href = `/c/${agent}?fill=${encodeURIComponent(fills.dataset.fill)}`; return; }
  const to = target.closest('[data-to]');
  if (to && view === 'timeline') { goTo(to.dataset.to); return; }
  const turn = target.closest('[data-turn-to]');
  if (turn && view === 'timeline') { goTo(`turn-${turn.dataset.turnTo}`); return; }
  const pressed = target.closest('[data-filter]');
  if (pressed) {
    program = pressed.dataset.filter;
    for (const each of document.querySelectorAll('[data-filter]')) each.setAttribute('aria-pressed', String(each === pressed));
    filter();
    return;
  }
  const session = target.closest('[data-import]');
  if (session) {
    session.setAttribute('aria-busy', 'true');
    session.querySelector('.chip').textContent = 'importing …';
    try { location.href = `/c/${(await post('/v1/sessions/import', { session: session.dataset.import })).agent}`; }
    catch (error) { session.querySelector('.chip').textContent = 'import'; say(/** @type {Error} */ (error).message, true); announce(/** @type {Error} */ (error).message); }
    return;
  }
  const copies = target.closest('[data-copy]');
  if (copies) { await navigator.clipboard.writeText(copies.dataset.copy); copies.textContent = 'copied'; return; }
  const drawer = target.closest('[data-drawer]');
  if (drawer) toggleDrawer(drawer.dataset.drawer);
  else if (!target.closest('.list, .side')) closeDrawers();
});

// Drawers of narrow windows: one at a time; Escape and a click beside it close it.
/** @param {string} name */
function toggleDrawer(name) {
  const opens = !body.classList.contains(`show-${name}`);
  closeDrawers();
  body.classList.toggle(`show-${name}`, opens);
  const button = /** @type {any} */ (document.querySelector(`[data-drawer=${name}]`));
  button?.setAttribute('aria-expanded', String(opens));
  if (opens) /** @type {any} */ (document.querySelector(`.${name} :is(a, button)`))?.focus({ preventScroll: true });
}
function closeDrawers() {
  const open = ['list', 'side'].find((each) => body.classList.contains(`show-${each}`));
  if (!open) return false;
  body.classList.remove('show-list', 'show-side');
  const button = /** @type {any} */ (document.querySelector(`[data-drawer=${open}]`));
  button?.setAttribute('aria-expanded', 'false');
  button?.focus();
  return true;
}

// A menu opens upwards if there is no space below it.
document.addEventListener('toggle', (/** @type {any} */ event) => {
  const menu = event.target;
  if (!menu.matches?.('.turn-menu, .why') || !menu.open) return;
  const pane = (menu.closest('.feed') || document.body).getBoundingClientRect(), popup = menu.lastElementChild.getBoundingClientRect();
  menu.classList.remove('up');
  menu.classList.toggle('up', menu.lastElementChild.getBoundingClientRect().bottom > pane.bottom && menu.getBoundingClientRect().top - popup.height > pane.top);
}, true);

/** @param {string} theme */
function useTheme(theme) {
  /** @type {any} */ (globalThis).chooseTheme(theme);
  announce(`Theme: ${theme || 'as the system'}`);
}
const colours = $('colours');
$('theme').addEventListener('click', () => {
  useTheme(document.documentElement.dataset.theme === 'light' ? 'dark' : 'light');
  if (colours) colours.value = document.documentElement.dataset.theme;
});
if (colours) {
  colours.value = localStorage.getItem('theme') || '';
  colours.addEventListener('change', () => useTheme(colours.value));
}

// Search.
const finder = $('finder'), words = $('words');
const search = soon(async () => fill($('hits'), await getText(`/page/search?q=${encodeURIComponent(words.value)}`)), 120);
words.addEventListener('input', search);
const openFinder = () => { finder.showModal(); words.select(); words.focus(); search(); };
answers.ArgumentNeeded = ({ command, argument }, message) => {
  if (argument.kinds.includes('agent')) { words.value = ''; openFinder(); }
  else if (argument.kinds.includes('model')) $('chip-model').click();
  else { write(`/${command} `); say(message); }
};
$('find').addEventListener('click', openFinder);
finder.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
  const links = [...finder.querySelectorAll('a')], now = links.indexOf(/** @type {any} */ (document.activeElement));
  if (event.key === 'ArrowDown') { event.preventDefault(); links[Math.min(links.length - 1, now + 1)]?.focus(); }
  if (event.key === 'ArrowUp') { event.preventDefault(); if (now <= 0) words.focus(); else links[now - 1].focus(); }
  if (event.key === 'Enter' && event.target === words && links[0]) { event.preventDefault(); links[0].click(); }
});
for (const each of [finder, $('map')]) each.addEventListener('click', (/** @type {any} */ event) => { if (event.target === each) each.close(); });

// Keys.
const MAP = [['1 2 3 4', 'timeline, context, calls, costs'], ['n', 'new conversation'], ['/', 'search'], ['j k', 'next row, previous row'], ['o', 'open or close a row'], ['g G', 'first row, last row'], ['[ ]', 'open the list, the side panel'], ['h', 'move where the context begins'], ['x', 'select a turn to drop'], ['m', 'set a mark'], ['f', 'fork the conversation'], ['r', 'rewind to before the selected turn'], ['u U', 'undo, redo'], ['c', 'write a message'], ['shift tab', 'next permission mode, in the composer'], ['esc', 'interrupt, or leave the composer'], ['?', 'these shortcuts']];
function openMap() {
  const list = document.createElement('dl');
  list.className = 'facts keys';
  for (const [keys, meaning] of MAP) {
    const term = document.createElement('dt'), about = document.createElement('dd'), key = document.createElement('kbd');
    key.textContent = keys; term.append(key); about.textContent = meaning;
    list.append(term, about);
  }
  const scroll = document.createElement('div'), head = document.createElement('header'), title = document.createElement('h2');
  title.textContent = 'Keyboard shortcuts'; head.append(title);
  scroll.className = 'scroll'; scroll.tabIndex = 0; scroll.append(list);
  $('map').replaceChildren(head, scroll);
  $('map').showModal();
}
$('help').addEventListener('click', openMap);

const focused = () => /** @type {any} */ (document.activeElement?.closest('article[data-key]'));
/** @type {Record<string, () => void>} */
const keys = {
  1: () => { location.search = ''; }, 2: () => { location.search = '?view=context'; }, 3: () => { location.search = '?view=calls'; }, 4: () => { location.search = '?view=costs'; },
  '/': openFinder, '?': openMap, j: () => moveFocus(1), k: () => moveFocus(-1),
  o: () => {
    const row = focused(), fold = row?.querySelector('[data-fold]'), details = row?.querySelector('details');
    if (fold) toggleFold(fold); else if (details) details.open = !details.open;
  },
  g: () => { state.following = false; $('feed').scrollTop = 0; }, G: toEnd,
  '[': () => toggleDrawer('list'), ']': () => toggleDrawer('side'), n: () => $('new').click(),
  h: () => { let row = focused(); while (row && !row.dataset.turn) row = row.previousElementSibling; openHead(row?.dataset.turn || ''); },
  m: () => write('/mark '), f: () => write('/fork '), c: () => $('message')?.focus(),
  r: () => {
    let row = focused();
    while (row && !row.dataset.turn) row = row.previousElementSibling;
    if (row) submit(`/rewind ${row.dataset.turn}`);
  },
  u: () => submit('/undo'), U: () => submit('/redo'),
  x: () => pickRow(focused()),
  Escape: () => {
    const menu = /** @type {any} */ (document.querySelector('details:is(.turn-menu, .why)[open]'));
    if (menu) { menu.open = false; menu.querySelector('summary').focus(); return; }
    if (!unpick() && !closeDrawers() && $('interrupt') && !$('interrupt').hidden) interrupt();
  },
};
document.addEventListener('keydown', (event) => {
  const target = /** @type {HTMLElement} */ (event.target), dialog = target.closest('dialog');
  const isElsewhere = dialog ? dialog.open : target.closest('input, textarea, select'); // one that was just closed still gets keys
  if (event.ctrlKey || event.metaKey || event.altKey || isElsewhere) return;
  const act = keys[event.key];
  if (act && (agent || ['n', '/', '?', '[', 'c', 'Escape'].includes(event.key))) { event.preventDefault(); act(); }
});

// Start.
tick();
setInterval(tick, 20_000);
setInterval(() => { if (!document.hidden) refreshList(); }, 5_000);
const asked = new URLSearchParams(location.search);
if (asked.get('fill') && $('message')) { write(asked.get('fill') || ''); history.replaceState(null, '', location.pathname); }
if (agent) {
  if (asked.get('at') && view === 'timeline') goTo(`at-${asked.get('at')}`);
  if (view === 'context') startContext();
  if ($('side') && !$('side').children.length) refreshSide(); else showWork();
  refreshQuestion();
  follow(String(body.dataset.version), on);
} else {
  $('link').lastElementChild.textContent = 'ready';
}
/** @type {any} */ (globalThis).repeatEarly();
