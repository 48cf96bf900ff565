// @ts-check
// The page on which a person chooses a model or program, and the page of settings.
import { $, announce, fill, getText, post } from './page.js';

/** Shows what came of a form, in its row. @param {Element} inside @param {string} words @param {boolean} refused */
function tell(inside, words, refused = false) {
  const line = /** @type {HTMLElement} */ (inside.closest('li, tr')?.querySelector('.said'));
  line.textContent = words;
  line.classList.toggle('bad', refused);
  line.classList.toggle('ok', !refused);
}

/** Runs something for a form while its buttons rest. @param {Element} form @param {() => Promise<void>} run */
async function during(form, run) {
  const buttons = [...form.querySelectorAll('button')];
  for (const each of buttons) each.disabled = true;
  try { await run(); } catch (error) { tell(form, /** @type {Error} */ (error).message, true); }
  for (const each of buttons) each.disabled = false;
}

// Models and programs.
const setup = $('setup');
async function load() { fill(setup, await getText('/page/setup')); }

/** @param {HTMLFormElement} form */
async function choose(form) {
  const given = Object.fromEntries(new FormData(form));
  tell(form, given.key ? 'Testing the key …' : 'Saving …');
  await during(form, async () => {
    try {
      const done = await post('/v1/setup', { ...given, ...(form.dataset.anyway === given.model && { anyway: true }) });
      tell(form, done.message);
      const words = new URLSearchParams(location.search).get('fill');
      location.href = `/?new=1${words ? `&fill=${encodeURIComponent(words)}` : ''}`;
    } catch (error) {
      if (/** @type {any} */ (error).status === 409) form.dataset.anyway = String(given.model);
      throw error;
    }
  });
}

/** @param {HTMLFormElement} form */
async function look(form) {
  const { address } = Object.fromEntries(new FormData(form));
  tell(form, 'Looking …');
  await during(form, async () => {
    const { models } = await post('/v1/setup/models', { address });
    $('server-models').replaceChildren(...models.map((/** @type {string} */ each) => new Option(each)));
    if (models.length) $('server-model').value = models[0];
    tell(form, models.length ? `${models.length} found: ${models.slice(0, 8).join(', ')}` : 'The server has no model.', !models.length);
  });
}

if (setup) {
  setup.addEventListener('submit', (/** @type {any} */ event) => { event.preventDefault(); choose(event.target); });
  setup.addEventListener('click', (/** @type {any} */ event) => {
    if (event.target.closest('[data-setup-again]')) load();
    const asks = event.target.closest('[data-setup-look]');
    if (asks) look(asks.closest('form'));
  });
  load().then(() => announce('You can choose a model or program.'));
}

// Settings.
const settings = $('settings');
if (settings) {
  settings.addEventListener('submit', (/** @type {any} */ event) => { event.preventDefault(); change(event.target, { value: String(new FormData(event.target).get('value') ?? '') }); });
  settings.addEventListener('change', (/** @type {any} */ event) => { if (event.target.matches('select')) event.target.form.requestSubmit(); });
  settings.addEventListener('click', (/** @type {any} */ event) => {
    const resets = event.target.closest('[data-unset]');
    if (resets) change(resets.closest('form'), {});
  });
  $('setting-filter').addEventListener('input', (/** @type {any} */ event) => {
    const words = event.target.value.toLowerCase();
    for (const each of settings.querySelectorAll('[data-setting]')) each.hidden = !each.textContent.toLowerCase().includes(words);
    for (const each of settings.querySelectorAll('.card')) each.hidden = !each.querySelector('[data-setting]:not([hidden])');
  });
}

/** @param {HTMLFormElement} form @param {{value?: string}} given */
async function change(form, given) {
  await during(form, async () => {
    const done = await post('/v1/settings', { name: form.dataset.name, ...given });
    tell(form, done.message);
  });
}
