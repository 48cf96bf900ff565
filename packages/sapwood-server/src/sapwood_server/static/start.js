// What must happen before the first paint and before the page's script runs: the theme, and early keys.
(() => {
  const contrast = matchMedia('(prefers-contrast: more)'), light = matchMedia('(prefers-color-scheme: light)');
  let asked = new URLSearchParams(location.search).get('theme');
  const showTheme = () => {
    const system = contrast.matches ? 'contrast' : light.matches ? 'light' : 'dark';
    document.documentElement.dataset.theme = asked || localStorage.getItem('theme') || system;
  };
  showTheme();
  for (const each of [contrast, light]) each.addEventListener('change', showTheme);
  // Without a theme, that of the system is followed.
  globalThis.chooseTheme = (theme) => {
    asked = '';
    if (theme) localStorage.setItem('theme', theme); else localStorage.removeItem('theme');
    showTheme();
  };

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
