// The frame of every page behind a link in a message: HTML without scripts, small, and without anything from elsewhere.
import { createHash } from 'node:crypto'
import { directionOf, type PageLanguage } from '../../../core/links/page-words.ts'

export interface LinkPage {
  readonly language: PageLanguage
  readonly title: string
  /** HTML: every text in it is escaped by `escapeForPage`. */
  readonly body: string
}

const STYLE = `
:root{color-scheme:light dark;--text:#1d2430;--quiet:#566072;--ground:#f3f5f8;--card:#fff;--line:#d5dae2;--accent:#1f5fc4;--on-accent:#fff;--good:#e7f4ea;--on-good:#17542a}
@media (prefers-color-scheme:dark){:root{--text:#e8ebf0;--quiet:#a5afbf;--ground:#12161d;--card:#1c222c;--line:#394252;--accent:#8ab4f8;--on-accent:#10203a;--good:#17352a;--on-good:#b5e5c4}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;padding:clamp(16px,6vh,72px) 16px;background:var(--ground);color:var(--text);font:17px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:34rem;margin:0 auto;padding:clamp(20px,5vw,40px);background:var(--card);border:1px solid var(--line);border-radius:14px;overflow-wrap:anywhere}
h1{margin:0 0 .5em;font-size:1.55rem;line-height:1.25}
p{margin:0 0 1.25em}
form{margin:0}
fieldset{margin:0 0 1.5em;padding:0;border:0}
legend{padding:0;margin:0 0 .75em}
label{display:flex;align-items:center;justify-content:space-between;gap:16px;min-height:52px;padding:10px 2px;border-top:1px solid var(--line);cursor:pointer}
label:last-of-type{border-bottom:1px solid var(--line)}
label input{flex:none;appearance:none;width:46px;height:28px;margin:0;border:2px solid var(--quiet);border-radius:14px;background:var(--card);cursor:pointer;position:relative}
label input::before{content:"";position:absolute;inset-block-start:4px;inset-inline-start:4px;width:16px;height:16px;border-radius:50%;background:var(--quiet)}
label input:checked{background:var(--accent);border-color:var(--accent)}
label input:checked::before{inset-inline-start:22px;background:var(--on-accent)}
button{display:block;width:100%;min-height:48px;padding:10px 20px;border:2px solid var(--accent);border-radius:10px;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:600;cursor:pointer}
button.quiet{margin-top:12px;background:transparent;color:var(--text);border-color:var(--quiet);font-weight:400}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
.note{padding:10px 14px;border-radius:8px;background:var(--good);color:var(--on-good)}
.more{margin:1.5em 0 0}
@media (forced-colors:active){label input{appearance:auto;border:0}label input::before{content:none}}
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Allows this page's style and its own form, and nothing else. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
} as const

export function renderPage({ language, title, body }: LinkPage): string {
  return `<!doctype html>
<html lang="${language}" dir="${directionOf(language)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeForPage(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeForPage(title)}</h1>
${body}
</main>
</body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text for the content of an element, or for an attribute in quotes. */
export function escapeForPage(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string)
}
