"""The page for those who are not signed in."""

from sapwood_server.page.html_text import line

_HEAD = (
    '<!doctype html><html lang="en" data-theme="dark"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
    '<link rel="stylesheet" href="/static/sapwood.css">'
)


def sign_in_page(detail: str = "") -> str:
    """Asks for a token, and says why."""
    why = line(detail) or "Open the address that `sapwood serve` printed, or paste a token."
    return (
        f'{_HEAD}<title>Sign in · Sapwood</title><script type="module" src="/static/sign-in.js">'
        '</script></head><body><main class="signin"><h1 class="h1">Sapwood</h1>'
        f'<p role="alert">{why}</p><form><label for="token">Token</label>'
        '<input id="token" type="password" autocomplete="off" required>'
        '<button class="btn go">Sign in</button></form></main></body></html>'
    )
