// @ts-check
// The composer: sends prompts and commands, completes from the table, queues while a turn is open.
import { $, agent, body, getJson, inOrder, post, say, upload } from './page.js';
import { toEnd } from './timeline.js';
import { chosen as options, nextMode, startOptions } from './options.js';

const box = $('message'), list = $('choices'), queueBox = $('queue');
const key = `queue:${agent}`;
const sendWords = $('send')?.textContent || '';
/** How long the composer waits for the answer to a command, in milliseconds. */
const PATIENCE = 1000;
let chosen = -1, isOpen = body.dataset.open === 'true', shells = 0;
const inTurn = inOrder(), readQueue = inOrder();
/** What was sent and has no answer yet, as it stood in the box. @type {string[]} */
let sending = [];
/** @type {{word: string, usage: string, help: string}[]} */
let found = [];
/** Uploaded files that go with the next prompt. @type {{id: string, name: string, text: string}[]} */
let attached = JSON.parse(sessionStorage.getItem(`files:${agent}`) || '[]');
/** The queue in the log, which all screens share. @type {{entry: string, text: string}[]} */
let shared = [];
/** Prompts with files. They wait in this browser, for all of its tabs. @returns {{id: string, text: string, files: typeof attached}[]} */
const readStored = () => JSON.parse(localStorage.getItem(key) || '[]');
let queue = readStored();
/** Set after an interrupt: then a person sends what waits. */
const HELD = `held:${agent}`;

const api = (/** @type {string} */ rest) => `/v1/agents/${encodeURIComponent(agent)}/${rest}`;
/** A text that was not sent because its commands have to be confirmed: sent again, it is. */
let askedAbout = '';
/** What to do with an answer, by its type. @type {Record<string, (answer: any, message: string) => void>} */
export const answers = {
  PromptToEdit: (answer, message) => { write(answer.prompt); say(message); },
  ConversationStarted: (answer) => { location.href = `/c/${answer.agent}`; },
  Switched: (answer) => { location.href = `/c/${answer.agent}`; },
  Forked: (answer, message) => { if (answer.taken_over) location.href = `/c/${answer.child}`; else say(message); },
  ContextShown: () => { location.search = '?view=context'; },
  RequestReplayed: () => { location.search = '?view=calls'; },
  Prompted: (_, message) => { say(message); },
};

/** @param {boolean} open @param {boolean} interrupted */
export function setOpen(open, interrupted = false) {
  isOpen = open;
  if (interrupted) sessionStorage.setItem(HELD, 'yes'); else if (open) sessionStorage.removeItem(HELD);
  showInterrupt();
  if (!open) sendNext(true);
}

function showInterrupt() { if ($('interrupt')) $('interrupt').hidden = !(isOpen || shells); }

export async function refreshQueue() {
  if (!agent || !queueBox) return;
  try { await readQueue(async () => { shared = (await getJson(api('queue'))).queue; showQueue(); }); } catch (error) { say(/** @type {Error} */ (error).message, true); }
}

/** Writes a text in front of what stands in the box and is not being sent. The beginning of a command needs an empty box. @param {string} text */
export function write(text) {
  if (!box) return;
  const draft = sending.includes(box.value) || box.value === text ? '' : box.value;
  box.focus();
  if (draft.trim() && /^\/\S+ $/.test(text)) { say('Send or clear your message first.'); return; }
  box.value = draft.trim() ? `${text}\n\n${draft}` : text;
  grow(); complete();
}

/** Opens a conversation with the text that stands in the box. @param {string} owner */
export function openWithDraft(owner) {
  if (box?.value.trim()) sessionStorage.setItem(`draft:${owner}`, unfolded(box.value));
  location.replace(`/c/${owner}`);
}

/** Whether a line runs as a command in the folder. @param {string} text */
const isShell = (text) => /^!(?!\[)|^\/shell\b/.test(text);

/** Fits the box to its text, and shows whether it is a command. */
function grow() {
  $('composer').classList.toggle('shell', isShell(box.value));
  $('send').textContent = isShell(box.value) ? 'Run' : sendWords;
  box.style.height = '';
  box.style.height = `${Math.min(box.scrollHeight, innerHeight * 0.4)}px`;
}

/** Sends what was typed. Returns what came of its prompt; '' if it was not carried out. The server says what is a command. @param {string} text @param {string} id @param {typeof attached} given @returns {Promise<string>} */
export async function submit(text, id = crypto.randomUUID(), given = []) {
  const runs = isShell(text), files = given.map((each) => each.id);
  say(/^\/compact/.test(text) ? 'A summary is being written and checked …' : runs ? 'The command runs …' : '');
  shells += Number(runs); showInterrupt();
  try {
    if (!agent) {
      const { mode, ...chosen } = options, typed = mode ? `/permissions ${mode}\n${text}` : text;
      location.href = `/c/${(await post('/v1/agents', { ...chosen, text: typed, id })).agent}`;
      return 'sent';
    }
    const asks = text !== askedAbout;
    askedAbout = '';
    const done = await post(api('submissions'), { text, id, waits: true, asks, ...(files.length && { files }) });
    const last = done.outcomes.at(-1);
    say('');
    for (const each of done.outcomes) (answers[each.answer?.type] || ((_, message) => say(message)))(each.answer, each.message);
    if (last?.answer?.type === 'Prompted') toEnd();
    if (done.prompt === 'queued') await refreshQueue();
    return done.prompt;
  } catch (error) {
    say(/** @type {Error} */ (error).message, true);
    offerSetup(error);
    const again = /** @type {any} */ (error).again || '';
    if (again === text) askedAbout = text; else if (again) write(again);
    return '';
  } finally { shells -= Number(runs); showInterrupt(); }
}

/** @param {any} error */
const lacksSetup = (error) => ['no_model', 'no_key', 'bad_key'].includes(error.failure);
/** Says why a turn failed. What it lacks is chosen on a page, and not in a shell. @param {any} data */
export function sayFailed(data) {
  if (data.retry_at) say(''); else say(lacksSetup(data) ? 'The turn failed.' : data.error || '', true);
  offerSetup(data);
}

/** A link to where a model or its key can be chosen, if that is what is missing. @param {any} error */
function offerSetup(error) {
  if (!lacksSetup(error)) return;
  const link = document.createElement('a');
  link.href = '/setup';
  link.className = 'btn sm';
  link.textContent = 'Choose a model';
  $('says')?.append(' ', link);
}

/** Sends what stands in the box, after what is being sent. Pressed twice, it is sent once. */
async function send() {
  const shown = box.value;
  if (agent ? sending.includes(shown) : sending.length) return;
  sending.push(shown);
  $('send').disabled = true;
  let wasOpen = isOpen;
  const prompt = await inTurn(() => { wasOpen = isOpen; return sendTyped(shown); });
  sending = sending.filter((each) => each !== shown);
  $('send').disabled = sending.length > 0;
  sendNext(wasOpen || !['', 'queued', 'held'].includes(prompt));  // else a person asked, also after an interrupt
}

/** Returns what came of the prompt; '' if the message was empty, and 'none' if it was not carried out. @param {string} shown */
async function sendTyped(shown) {
  if (!await arriving) return 'none';
  const text = unfolded(shown), files = attached, id = crypto.randomUUID();
  if (!text.trim() && !files.length) return '';
  const isText = !/^[/!]/.test(text), isForked = $('composer').dataset.elsewhere && isText;
  const isBehind = isText && !isForked && queue.length;
  const sent = isBehind ? Promise.resolve('held') : submit(isForked ? `/fork --\n${text}` : text, id, files);
  // A slow command is answered later, and meanwhile the next message can be written and sent.
  const slow = !isText && await Promise.race([sent.then(() => false), new Promise((later) => setTimeout(later, PATIENCE, true))]);
  if (slow && box.value === shown) clear();
  const settled = sent.then((prompt) => {
    if (!prompt) { if (slow && !box.value) { box.value = shown; grow(); } return 'none'; }
    if (prompt === 'held') changeQueue((now) => [...now, { id, text, files }]);
    if (!slow && box.value === shown) clear();
    if (prompt !== 'none') setAttached([]);
    return prompt;
  });
  return slow ? 'none' : settled;
}

function clear() { box.value = ''; grow(); hide(); showPastes(); }

// Pastes of more than ten lines: a chip in the text stands for each, and a button opens it.
/** @type {Map<string, string>} */
const pastes = new Map();
const pasteBox = document.createElement('div');
pasteBox.id = 'pastes';

/** @param {string} text */
function unfolded(text) {
  for (const [chip, pasted] of pastes) text = text.replaceAll(chip, () => pasted);
  return text;
}

/** Writes a chip in place of a long paste; returns false for a short one. @param {string} pasted */
function fold(pasted) {
  const lines = pasted.replace(/\n$/, '').split('\n').length;
  if (lines <= 10) return false;
  const chip = `[paste ${pastes.size + 1}: ${lines} lines]`;
  pastes.set(chip, pasted);
  box.setRangeText(chip, box.selectionStart, box.selectionEnd, 'end');
  grow(); showPastes();
  return true;
}

function showPastes() {
  const used = [...pastes].filter(([chip]) => box.value.includes(chip));
  pasteBox.replaceChildren(...used.map(([chip, pasted]) => act(`Open ${chip.slice(1, -1)}`, () => {
    box.value = box.value.replace(chip, () => pasted);
    grow(); showPastes(); box.focus();
  })));
  pasteBox.hidden = !used.length;
}

/** Takes a prompt out of the queue in the log. @param {string} entry */
async function unqueue(entry) {
  try { await post(api(`queue/${encodeURIComponent(entry)}/remove`), {}); return true; } catch (error) { say(/** @type {Error} */ (error).message, true); return false; } finally { refreshQueue(); }
}

/** Changes the queue as it is now: another tab may have changed it too. @param {(now: typeof queue) => typeof queue} change */
function changeQueue(change) {
  queue = change(readStored());
  localStorage.setItem(key, JSON.stringify(queue));
  showQueue();
}
const unhold = (/** @type {string} */ id) => changeQueue((now) => now.filter((each) => each.id !== id));
addEventListener('storage', (event) => { if (event.key === key) { queue = readStored(); showQueue(); } });

function showQueue() {
  if (!queueBox) return;
  const own = queue.map((each) => ({ ...each, drop: async () => { unhold(each.id); return true; } }));
  const lines = [...shared.map((each) => ({ text: each.text, files: [], drop: () => unqueue(each.entry) })), ...own];
  queueBox.replaceChildren(...lines.map((each) => {
    const line = document.createElement('div');
    line.className = 'queue';
    const chip = document.createElement('span'), words = document.createElement('span');
    chip.className = 'chip warn'; chip.textContent = '» queued';
    words.className = 'grow ell'; words.textContent = each.text;
    const edit = act('edit', async () => { if (await each.drop()) { write(each.text); if (each.files.length) setAttached([...each.files, ...attached]); } });
    const drop = act('✕', each.drop);
    drop.setAttribute('aria-label', 'Remove from the queue');
    line.append(chip, words, edit, drop);
    return line;
  }));
}

/** @param {string} words @param {() => void} run */
function act(words, run) {
  const button = document.createElement('button');
  button.type = 'button'; button.className = 'btn bare sm'; button.textContent = words; button.onclick = run;
  return button;
}

/** Sends what is first in the queue; `ended`: because a turn ended, so not after an interrupt. @param {boolean} ended */
function sendNext(ended) {
  return inTurn(async () => {
    queue = readStored();
    const next = queue[0];
    if (!ended) sessionStorage.removeItem(HELD);
    if (isOpen || !(shared.length || next)) return;
    if (shared.length) { try { await post(api('queue/next'), { ended }); } catch (error) { say(/** @type {Error} */ (error).message, true); } await refreshQueue(); }
    else if (!sessionStorage.getItem(HELD)) {
      askedAbout = '';  // only a person confirms
      if (!['', 'held'].includes(await submit(next.text, next.id, next.files))) unhold(next.id);
    }
  });
}

// Images: pasted, dropped or chosen. They are uploaded at once and sent with the next prompt.
/** @param {typeof attached} list */
function setAttached(list) {
  attached = list;
  sessionStorage.setItem(`files:${agent}`, JSON.stringify(list));
  const place = $('attached');
  place.hidden = !list.length;
  place.replaceChildren(...list.map((each) => {
    const chip = document.createElement('span'), image = document.createElement('img');
    chip.className = 'shotchip'; chip.title = each.text;
    image.src = api(`files/${each.id}`); image.alt = each.text;
    const remove = act('✕', () => setAttached(attached.filter((other) => other !== each)));
    remove.setAttribute('aria-label', `Remove ${each.name || 'the image'}`);
    chip.append(image, remove);
    return chip;
  }));
}

/** Whether the images arrived, for what is sent with them. @type {Promise<boolean>} */
let arriving = Promise.resolve(true);
/** @param {FileList | File[]} files */
function attach(files) {
  const images = [...files].filter((each) => each.type.startsWith('image/'));
  if (!images.length) return;
  const mine = arriving = arriving.then(() => uploadAll(images));
  mine.then(() => { if (arriving === mine) arriving = Promise.resolve(true); });
}

/** @param {File[]} images */
async function uploadAll(images) {
  say('Uploading …');
  try {
    const { mode, ...chosen } = options, owner = agent || (await post('/v1/agents', chosen)).agent;
    if (mode && !agent) await post(`/v1/agents/${encodeURIComponent(owner)}/submissions`, { text: `/permissions ${mode}`, id: crypto.randomUUID() });
    const found = [];
    for (const each of images) found.push((await upload(`/v1/agents/${encodeURIComponent(owner)}/files?name=${encodeURIComponent(each.name)}`, each)).file);
    say('');
    if (agent) { setAttached([...attached, ...found.filter((each) => !attached.some((other) => other.id === each.id))]); return true; }
    sessionStorage.setItem(`files:${owner}`, JSON.stringify(found));
    openWithDraft(owner);
  } catch (error) { say(/** @type {Error} */ (error).message, true); }
  return false;
}

// Completion.
let asked = 0;
async function complete() {
  const typed = box.value.slice(0, box.selectionStart), line = typed.split('\n').pop() || '', mine = (asked += 1);
  const isCommand = typed.startsWith('/') && !typed.includes('\n'), isMention = /(^|\s)@\S*$/.test(line);
  if (!(isCommand || isMention) || !agent) { hide(); return; }
  const answer = await getJson(api(`completions?line=${encodeURIComponent(line)}`)).catch(() => null);
  if (!answer || mine !== asked) return;
  found = answer.choices;
  chosen = -1;
  list.replaceChildren(...found.map((each, number) => {
    const row = document.createElement('li'), word = document.createElement('code');
    const usage = document.createElement('span'), help = document.createElement('span');
    row.role = 'option'; row.id = `choice-${number}`; row.setAttribute('aria-selected', 'false');
    word.textContent = each.word; usage.textContent = each.usage; help.textContent = each.help;
    usage.className = 'mono faint ell'; help.className = 'ell';
    row.append(word, usage, help);
    row.onmousedown = (event) => { event.preventDefault(); take(number); };
    return row;
  }));
  list.hidden = !found.length;
}

function hide() { list.hidden = true; found = []; chosen = -1; box.removeAttribute('aria-activedescendant'); }

/** @param {number} number */
function choose(number) {
  chosen = (number + found.length) % found.length;
  [...list.children].forEach((row, each) => row.setAttribute('aria-selected', String(each === chosen)));
  box.setAttribute('aria-activedescendant', `choice-${chosen}`);
  list.children[chosen].scrollIntoView({ block: 'nearest' });
}

/** @param {number} number */
function take(number) {
  const before = box.value.slice(0, box.selectionStart), after = box.value.slice(box.selectionStart);
  const kept = before.slice(0, before.search(/\S*$/)), word = found[number].word, end = word.endsWith('/') ? '' : ' ';
  box.value = `${kept}${word}${end}${after}`;
  box.selectionStart = box.selectionEnd = kept.length + word.length + end.length;
  grow();
  complete();
}

if (box) {
  $('attached').before(pasteBox);
  box.addEventListener('input', () => { grow(); complete(); showPastes(); });
  box.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const listed = !list.hidden && found.length;
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (listed && chosen >= 0) take(chosen); else send();
    } else if (event.key === 'Tab' && event.shiftKey) {
      event.preventDefault();
      nextMode();
    } else if (event.key === 'Tab' && listed) {
      event.preventDefault();
      take(Math.max(0, chosen));
    } else if (listed && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      choose(chosen + (event.key === 'ArrowDown' ? 1 : -1));
    } else if (event.key === 'ArrowUp' && !box.value && queueBox.lastElementChild) {
      event.preventDefault();
      /** @type {HTMLButtonElement} */ (queueBox.lastElementChild.querySelector('button')).click();
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      if (listed) hide(); else if ($('interrupt').hidden) box.blur(); else interrupt();
    }
  });
  $('composer').addEventListener('submit', (/** @type {Event} */ event) => { event.preventDefault(); send(); });
  box.addEventListener('paste', (/** @type {ClipboardEvent} */ event) => {
    if (event.clipboardData?.files.length) { event.preventDefault(); attach(event.clipboardData.files); }
    else if (fold((event.clipboardData?.getData('text/plain') || '').replace(/\r\n?/g, '\n'))) event.preventDefault();
  });
  $('files').addEventListener('change', () => { attach($('files').files); box.focus(); });
  $('composer').addEventListener('dragover', (/** @type {DragEvent} */ event) => event.preventDefault());
  $('composer').addEventListener('drop', (/** @type {DragEvent} */ event) => { event.preventDefault(); if (event.dataTransfer) attach(event.dataTransfer.files); });
  $('interrupt').addEventListener('click', interrupt);
  startOptions(submit);
  const draft = sessionStorage.getItem(`draft:${agent}`);
  if (draft) { sessionStorage.removeItem(`draft:${agent}`); write(draft); }
  setAttached(attached);
  showQueue();
  refreshQueue();
  setOpen(isOpen);
}

export async function interrupt() {
  try { say((await post(api('interrupt'), {})).message || 'Interrupted.'); } catch (error) { say(/** @type {Error} */ (error).message, true); }
}
