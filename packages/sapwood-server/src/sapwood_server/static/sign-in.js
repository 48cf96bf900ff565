// Exchanges a token for a cookie: a pasted one, or the one behind the # of the printed address.
const form = document.querySelector('form');

async function signIn(body) {
  const answer = await fetch('/sign-in', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (answer.ok) { location.href = '/'; return; }
  const problem = await answer.json().catch(() => ({}));
  document.querySelector('[role=alert]').textContent = problem.detail || 'The token was rejected.';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  signIn({ token: document.getElementById('token').value });
});

const token = new URLSearchParams(location.hash.slice(1)).get('token');
if (token) {
  history.replaceState(null, '', location.pathname);
  // The server takes only the token that it printed itself this way: anybody can make a link.
  signIn({ token, link: true });
}
globalThis.repeatEarly();
