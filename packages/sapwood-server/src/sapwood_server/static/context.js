// @ts-check
// The context page: moves the cut and shows tokens and price before anything is changed.
import { $, agent, fill, getJson, getText, money, tokens } from './page.js';

/** @type {any} */
let plan = null;

/** Reads the page again. */
export async function refreshContext() {
  const whole = $('whole');
  if (!whole || !$('cut') && !document.querySelector('.ctx')) return;
  const at = $('cut') ? Number($('cut').value) : 0;
  fill(whole, await getText(`/page/${encodeURIComponent(agent)}/context`));
  await startContext();
  if ($('cut')) { $('cut').value = String(Math.min(at, Number($('cut').max))); show(); }
}

export async function startContext() {
  if (!$('cut')) return;
  plan = await getJson(`/v1/agents/${encodeURIComponent(agent)}/cuts`);
  $('cut').addEventListener('input', show);
  show();
}

function show() {
  const slider = $('cut'), at = Number(slider.value), cut = plan.cuts[at];
  if (!cut) return;
  const words = at ? `before turn #${cut.turn}, ${at} ${at === 1 ? 'turn removed' : 'turns removed'}` : 'nothing is removed';
  slider.setAttribute('aria-valuetext', words);
  $('leaving').textContent = at ? `${at} ${at === 1 ? 'turn removed' : 'turns removed'}` : 'nothing is removed';
  document.querySelectorAll('.bars > li').forEach((bar, number) => bar.classList.toggle('leaves', number < at));
  document.querySelectorAll('.core > .t').forEach((part, number) => part.classList.toggle('gone', number < at));
  $('after-total').textContent = tokens(cut.total);
  $('after-cap').textContent = plan.cap ? `${Math.round((100 * cut.total.tokens) / plan.cap)} %` : '–';
  $('after-once').textContent = money(at ? cut.once : plan.now);
  $('after-later').textContent = money(at ? cut.later : plan.now);
  $('advice').textContent = at ? advice(plan, cut) : 'Move the cut with the slider or the arrow keys.';
  const blocked = Boolean($('blocked'));
  for (const [id, line] of [['trim', cut.line], ['compact-here', `/compact --keep ${cut.keep}`]]) {
    $(id).dataset.run = line;
    $(id).title = line;
    $(id).disabled = blocked || !at;
  }
}

/** Whether a cut saves money, and after how many calls. @param {any} plan @param {any} cut */
export function advice(plan, cut) {
  if (plan.now === null) return 'The price of this model is unknown.';
  const written = Math.max(0, cut.total.tokens - plan.fixed.tokens);
  const extra = cut.once - plan.now, saved = plan.now - cut.later;
  const broken = `The cut invalidates the cache: ${tokens({ tokens: written, exact: cut.total.exact })} have to be cached again.`;
  if (extra <= 0) return `${broken} It saves money immediately.`;
  if (saved <= 0) return `${broken} It costs more than it saves.`;
  return `${broken} It pays for itself after ${Math.ceil(extra / saved)} calls.`;
}
