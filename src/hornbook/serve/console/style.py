"""How our pages look: one style sheet, no font, script or picture from elsewhere."""

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE_HEADERS = {"content-security-policy": _POLICY, "cache-control": "no-cache"}

STYLE = """
:root { color-scheme: light dark; --line: #8883; --soft: #8881; --accent: #2f6f4f;
  font: 15px/1.55 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { :root { --accent: #8fd0ae; } }
* { box-sizing: border-box; }
body { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1.2rem 3rem; }
header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap;
  border-bottom: 2px solid var(--accent); padding-bottom: .6rem; margin-bottom: 1.2rem; }
header h1 { font-size: 1.35rem; margin: 0; } header nav { margin-left: auto; }
nav a { margin-left: 1rem; } a { color: var(--accent); }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; } h3 { font-size: .95rem; margin: 1rem 0 .2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; font-size: .85rem; opacity: .7; } td.number { text-align: right; }
code, textarea, pre, input { font: 13px/1.5 ui-monospace, monospace; }
textarea, input { width: 100%; padding: .6rem; border: 1px solid var(--line); border-radius: 6px;
  background: transparent; color: inherit; resize: vertical; }
pre { background: var(--soft); padding: .8rem; border-radius: 6px; overflow: auto; margin: 0; }
button { font: inherit; padding: .4rem 1.2rem; border: 0; border-radius: 6px; cursor: pointer;
  background: var(--accent); color: Canvas; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .8rem; }
.figures div { background: var(--soft); border-radius: 8px; padding: .7rem .9rem; }
.figures strong { display: block; font-size: 1.5rem; line-height: 1.2; }
.error { color: #c33; } .warning { color: #b70; } .info, .muted { opacity: .65; }
.columns { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.columns pre { max-height: 80vh; }
@media (max-width: 50rem) { .columns { grid-template-columns: minmax(0, 1fr); } }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
summary { cursor: pointer; }
"""
