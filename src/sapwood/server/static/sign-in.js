// Exchanges a token for a cookie: a pasted one, or the one behind the # of the printed address.
const form = document.querySelector('form');
const field = document.getElementById('token');
const told = document.querySelector('[role=alert]');

async function signIn() {
  const answer = await fetch('/sign-in', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: field.value }) });
  if (answer.ok) { location.href = '/'; return; }
  const problem = await answer.json().catch(() => ({}));
  told.textContent = problem.detail || 'The token was refused.';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  signIn();
});

const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  history.replaceState(null, '', location.pathname);
  if (form.dataset.link === 'ignore') {
    told.textContent = 'Another site opened this page, so its token is not used. Paste the address that `sapwood serve` printed into the address bar.';
  } else {
    field.value = given;
    if (form.dataset.link === 'sign-in') signIn();
    else told.textContent = 'Press the button to sign in with the token of this address.';
  }
}
