// What must happen before the first paint and before the page's script runs: the theme, and what is pressed early.
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

  // What is pressed before the script is there is repeated for it. Else Enter would be a line break, a click would
  // do nothing, and a form would load the page again with what was typed in its address.
  const early = [];
  const keeps = {
    keydown: (event) => {
      const isEnter = event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.target.id === 'message';
      if (isEnter) event.preventDefault();
      if (isEnter || !event.target.closest('input, textarea, select, button, a')) early.push(() => event.target.dispatchEvent(new KeyboardEvent('keydown', event)));
    },
    click: (event) => {
      const target = event.target, button = target.closest('button');
      if (button?.form && button.type === 'submit') return; // its form is kept
      if (button || !target.closest('input, textarea, select, label, summary, a')) early.push(() => target.dispatchEvent(new MouseEvent('click', event)));
    },
    submit: (event) => {
      if (event.target.hasAttribute('method')) return; // works without a script
      event.preventDefault();
      early.push(() => event.target.requestSubmit());
    },
  };
  for (const [kind, keep] of Object.entries(keeps)) addEventListener(kind, keep, true);
  globalThis.repeatEarly = () => {
    for (const [kind, keep] of Object.entries(keeps)) removeEventListener(kind, keep, true);
    for (const repeat of early) repeat();
  };
})();
