// Exchanges a pasted token for a cookie.
const form = document.querySelector('form');
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = document.getElementById('token').value;
  const answer = await fetch('/sign-in', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) });
  if (answer.ok) { location.href = '/'; return; }
  const problem = await answer.json().catch(() => ({}));
  document.querySelector('[role=alert]').textContent = problem.detail || 'The token was refused.';
});
