// @ts-check
// The dialog of a question to a person. Focus starts on No, and on the first choice of a question of the
// model; Escape denies and stops, and in the reason goes back to the answers.
import { $, agent, announce, fill, getText, post, say } from './page.js';
import { interrupt } from './composer.js';

const dialog = $('ask');
let shown = '';

/** Shows the oldest question, or closes the dialog if nothing waits. */
export async function refreshQuestion() {
  if (!agent) return;
  const html = await getText(`/page/${encodeURIComponent(agent)}/question`);
  if (!html) { shown = ''; if (dialog.open) dialog.close(); return; }
  if (html === shown && dialog.open) return;
  shown = html;
  fill(dialog, html);
  if (!dialog.open) dialog.showModal();
  announce(dialog.querySelector('h2').textContent);
  const scroll = dialog.querySelector('.scroll');
  scroll.addEventListener('scroll', allow);
  allow();
  focusAnswer();
}

/** Answers that allow work only after the end of the text was shown. */
function allow() {
  const scroll = dialog.querySelector('.scroll');
  const seen = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 8;
  if (!seen) return;
  dialog.dataset.seen = dialog.querySelector('footer').dataset.question;
  paint();
}

function paint() {
  const footer = dialog.querySelector('footer');
  const seen = dialog.dataset.seen === footer.dataset.question;
  for (const button of footer.querySelectorAll('button')) {
    const allows = !['n', 't'].includes(button.dataset.key);
    button.disabled = allows && !seen;
  }
}

/** @param {string} key */
async function answer(key) {
  const footer = dialog.querySelector('footer'), reason = dialog.querySelector('#reason');
  const button = footer.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!button || button.disabled) return;
  if (key === 't' && reason.hidden) { reason.hidden = false; reason.focus(); return; }
  const { question, hash } = footer.dataset;
  try {
    const done = await post(`/v1/agents/${encodeURIComponent(agent)}/permissions/${question}`, { key, hash, reason: reason.value });
    say(done.message);
  } catch (error) { say(/** @type {Error} */ (error).message, true); }
  shown = '';
  await refreshQuestion();
}

function focusAnswer() { dialog.querySelector(dialog.querySelector('footer').dataset.choices ? 'footer button' : '[data-key="n"]').focus(); }

dialog.addEventListener('click', (/** @type {any} */ event) => {
  const button = event.target.closest('footer [data-key]');
  if (button) answer(button.dataset.key);
});
dialog.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
  const inReason = /** @type {any} */ (event.target).id === 'reason';
  if (inReason && event.key === 'Enter') { event.preventDefault(); answer('t'); }
  if (inReason || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key.length === 1 && dialog.querySelector(`footer [data-key="${CSS.escape(event.key)}"]`)) {
    event.preventDefault();
    event.stopPropagation();
    answer(event.key);
  }
});
dialog.addEventListener('cancel', async (/** @type {Event} */ event) => {
  event.preventDefault();
  const reason = dialog.querySelector('#reason');
  if (reason && !reason.hidden) { reason.hidden = true; reason.value = ''; focusAnswer(); return; }
  await answer('n');
  await interrupt();
});
