// @ts-check
// Folder, model and permission mode below the message: each chip opens a list above the composer.
import { $, agent, announce, fill, getText } from './page.js';

const composer = $('composer'), box = $('message');
/** What a new conversation starts with. @type {{model?: string, folder?: string, mode?: string}} */
export const chosen = {};
/** Runs a command of this conversation. @type {(line: string) => Promise<string>} */
let run = async () => '';
/** @param {typeof run} submit */
export function startOptions(submit) { run = submit; }

/** @param {string} [name] */
function open(name) {
  for (const each of composer.querySelectorAll('[data-opens]')) {
    const isIt = each.dataset.opens === name;
    each.setAttribute('aria-expanded', String(isIt));
    $(`pick-${each.dataset.opens}`).hidden = !isIt;
  }
  if (name === 'model') loadModels();
  if (name) $(`pick-${name}`).querySelector('input, button, a')?.focus();
}
export const isOpen = () => Boolean(composer?.querySelector('.popv:not([hidden])'));
export function close() { open(); box.focus(); }

async function loadModels() {
  if ($('models').children.length) { filter(); return; }
  $('models').textContent = 'Looking for models …';
  fill($('models'), await getText(`/page/models?model=${encodeURIComponent($('chip-model').textContent)}`));
  filter();
}
function filter() {
  const words = $('model-name').value.toLowerCase();
  for (const each of $('models').querySelectorAll('[data-model]')) each.hidden = !each.textContent.toLowerCase().includes(words);
}

/** Shows the values that count now. @param {{model?: string, permission_mode?: string}} settings */
export function showSettings({ model, permission_mode: mode }) {
  if (!composer) return;
  if (model) { $('chip-model').textContent = model; $('models').replaceChildren(); }
  if (!mode) return;
  const row = composer.querySelector(`[data-mode="${mode}"]`);
  for (const each of composer.querySelectorAll('[data-mode]')) each.setAttribute('aria-pressed', String(each === row));
  $('chip-mode').textContent = row.querySelector('b').textContent;
  $('chip-mode').parentElement.className = `btn opt m-${mode}`;
  $('accept').hidden = mode !== 'plan' || !agent;
}

/** @param {string} model */
async function useModel(model) {
  if (!model) return;
  if (!agent) { chosen.model = model; showSettings({ model }); close(); return; }
  close();
  await run(`/model ${model}`);
}

/** @param {string} mode */
async function useMode(mode) {
  const before = shownMode().mode;
  showSettings({ permission_mode: mode });
  if (!agent) chosen.mode = mode;
  else if (!await run(`/permissions ${mode}`)) showSettings({ permission_mode: before });
}

/** @param {string} folder */
function useFolder(folder) {
  chosen.folder = folder;
  $('folder').value = folder;
  $('chip-folder').textContent = folder.replace(/\/+$/, '').split('/').pop() || folder;
}

const shownMode = () => composer.querySelector('[data-mode][aria-pressed=true]').dataset;

/** Goes to the next mode that needs no second thought. */
export function nextMode() {
  const mode = shownMode().next;
  announce(`Permission mode: ${mode}`);
  useMode(mode);
}

if (composer) {
  composer.addEventListener('click', (/** @type {any} */ event) => {
    const target = event.target, chip = target.closest('[data-opens]');
    if (chip) { open(chip.getAttribute('aria-expanded') === 'true' ? '' : chip.dataset.opens); return; }
    const model = target.closest('[data-model]'), mode = target.closest('[data-mode]'), folder = target.closest('[data-folder]');
    if (model) useModel(model.dataset.model);
    if (folder) { useFolder(folder.dataset.folder); close(); }
    if (!mode) return;
    if (mode.dataset.mode === 'all' && !mode.dataset.sure) {
      mode.dataset.sure = 'true';
      mode.querySelector('span').textContent = 'Commands and changes run without a question. Click again to allow that.';
      return;
    }
    useMode(mode.dataset.mode);
    close();
  });
  composer.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const list = /** @type {HTMLElement} */ (event.target).closest('.popv');
    if (!list) return;
    if (event.key === 'Escape') { event.preventDefault(); event.stopPropagation(); close(); }
    if (event.key === 'Enter' && event.target === $('model-name')) {
      event.preventDefault();
      const typed = $('model-name').value.trim(), first = /** @type {any} */ ($('models').querySelector('[data-model]:not([hidden])'));
      useModel(first?.dataset.model || typed);
    }
    if (event.key === 'Enter' && event.target === $('folder')) { event.preventDefault(); useFolder($('folder').value.trim()); close(); }
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const rows = [.../** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll('input, .opt-row:not([hidden])'))];
      const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + (event.key === 'ArrowDown' ? 1 : -1);
      event.preventDefault();
      rows[Math.max(0, Math.min(rows.length - 1, at))]?.focus();
    }
  });
  $('model-name').addEventListener('input', filter);
  $('folder')?.addEventListener('change', () => useFolder($('folder').value.trim()));
  document.addEventListener('pointerdown', (/** @type {any} */ event) => { if (isOpen() && !event.target.closest('.popv, [data-opens]')) open(); });
}
