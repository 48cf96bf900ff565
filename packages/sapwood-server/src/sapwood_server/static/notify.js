// @ts-check
// Notifications of the browser while a tab is open, and codes that pair a phone.
import { $, post } from './page.js';

const button = $('notify');
const isOn = () => localStorage.getItem('notify') === 'on' && globalThis.Notification?.permission === 'granted';

function show() {
  if (!button) return;
  button.setAttribute('aria-pressed', String(isOn()));
  button.textContent = isOn() ? 'Switch off' : 'Switch on';
}

async function toggle() {
  const said = button.parentElement.querySelector('.said');
  said.textContent = '';
  if (isOn()) { localStorage.setItem('notify', 'off'); show(); return; }
  const given = globalThis.Notification ? await Notification.requestPermission() : 'denied';
  localStorage.setItem('notify', given === 'granted' ? 'on' : 'off');
  if (given !== 'granted') said.textContent = 'This browser does not allow notifications from this address.';
  show();
  watch();
}

/** What each conversation was doing. @type {Map<string, string>} */
const states = new Map();
/** @param {{agent: string, name: string, status: string, gone?: boolean}} facts */
function notice(facts) {
  const before = states.get(facts.agent);
  states.set(facts.agent, facts.status);
  const asks = facts.status === 'waiting for approval' && before !== facts.status;
  const ended = facts.status === 'idle' && before && before !== 'idle';
  if (facts.gone || !isOn() || document.visibilityState === 'visible' || !(asks || ended)) return;
  const shown = new Notification(facts.name || 'Sapwood', { body: asks ? 'A tool call needs your approval.' : 'The turn has ended.', tag: `sapwood-${facts.agent}`, icon: '/static/icon.svg' });
  shown.onclick = () => { focus(); location.href = `/c/${encodeURIComponent(facts.agent)}`; shown.close(); };
}

// One tab of this browser follows all conversations: browsers allow few connections to a server.
let watching = false;
function watch() {
  if (watching || !isOn() || !navigator.locks) return;
  watching = true;
  navigator.locks.request('sapwood-notify', () => new Promise((done) => {
    const events = new EventSource('/v1/events?form=agents');
    events.addEventListener('agent', (event) => { notice(JSON.parse(event.data)); if (!isOn()) { events.close(); watching = false; done(null); } });
  }));
}

button?.addEventListener('click', toggle);
show();
watch();

$('pair')?.addEventListener('click', async () => {
  const line = $('code'), where = $('where');
  try {
    const { code, seconds, names } = await post('/v1/pairing', {});
    line.textContent = code;
    where.textContent = whereToType(names);
    setTimeout(() => { if (line.textContent === code) line.textContent = where.textContent = ''; }, seconds * 1000);
  } catch (error) { line.textContent = ''; where.textContent = /** @type {Error} */ (error).message; }
});

/** Where the code is typed. @param {string[]} names by which other machines reach the server */
function whereToType(names) {
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
  if (!isHere) return `Open ${location.origin}/sign-in there, and type this code.`;
  if (names.length) return `Open /sign-in of ${names.join(' or ')} there, and type this code. You use the server by ${location.host}, which only this machine reaches.`;
  return `Only browsers on this machine reach ${location.origin}/sign-in. For a phone, start the server again: sapwood serve --host 0.0.0.0 --host-name NAME`;
}
