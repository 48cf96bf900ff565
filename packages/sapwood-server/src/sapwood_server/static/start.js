// What must happen before the first paint and before the page's script runs: the theme, and early keys.
(() => {
  const chosen = localStorage.getItem('theme');
  const asks = (query) => matchMedia(query).matches;
  const system = asks('(prefers-contrast: more)') ? 'contrast' : asks('(prefers-color-scheme: light)') ? 'light' : 'dark';
  const asked = new URLSearchParams(location.search).get('theme');
  document.documentElement.dataset.theme = asked || chosen || system;

  // A key that acts and is pressed before the script is there is kept for it. Else Enter would be a line break.
  const early = [];
  const keep = (event) => {
    const isEnter = event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.target.id === 'message';
    if (isEnter) event.preventDefault();
    if (isEnter || !event.target.closest('input, textarea, select, button, a')) early.push(event);
  };
  addEventListener('keydown', keep, true);
  globalThis.takeEarlyKeys = () => { removeEventListener('keydown', keep, true); return early; };
})();
