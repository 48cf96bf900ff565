// Sets the theme before the first paint: the chosen one, else what the system asks for.
(() => {
  const chosen = localStorage.getItem('theme');
  const asks = (query) => matchMedia(query).matches;
  const system = asks('(prefers-contrast: more)') ? 'contrast' : asks('(prefers-color-scheme: light)') ? 'light' : 'dark';
  const asked = new URLSearchParams(location.search).get('theme');
  document.documentElement.dataset.theme = asked || chosen || system;
})();
