// Starts the reference page in the browser. A file of its own, because the page allows no script inside of it.
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')

function followScheme() {
  document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
}

prefersDark.addEventListener('change', followScheme)
followScheme()

/** In characters. Coloured text has an element for each of its words: with ten times as many the browser freezes for seconds. */
const COLOURED_LENGTH_MAX = 20_000

/** A plugin that adds what Swagger UI lacks. */
function mendSwaggerUi() {
  // Longer texts are shown without colours: answers may be megabytes, and so may the bodies in the lines for curl.
  const wrapHighlighter = (Coloured, { React, getComponent }) =>
    function SyntaxHighlighter({ renderPlainText, ...rest }) {
      const { children } = rest
      const isLong = children?.length > COLOURED_LENGTH_MAX
      if (!isLong) return React.createElement(Coloured, { renderPlainText, ...rest })
      const PlainTextViewer = getComponent('PlainTextViewer')
      return renderPlainText?.({ children, PlainTextViewer }) ?? React.createElement(PlainTextViewer, null, children)
    }
  // These hold only bodies, and nothing else names them for screen readers.
  const wrapTextArea = (Plain, { React }) =>
    function TextArea(given) {
      return React.createElement(Plain, { 'aria-label': 'Request body', ...given })
    }
  return { wrapComponents: { SyntaxHighlighter: wrapHighlighter, TextArea: wrapTextArea } }
}

/** The names of the two keys in the OpenAPI document. */
const SCHEMES = { data: 'DataKey', reports: 'ReportsKey' }
const DAY_MS = 24 * 60 * 60 * 1000

/** Puts the workspace into paths and headers, and dates that have numbers into the example of campaign statistics. */
function completeDocument(document, workspace) {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  for (const { parameters = [], requestBody } of operations) {
    for (const { name, schema } of parameters) if (name === 'Workspace_ID') schema.default = workspace
    const example = requestBody?.content['application/json']?.example
    if (!example?.start_date) continue
    example.start_date = new Date(Date.now() - 30 * DAY_MS).toISOString().slice(0, 10)
    example.end_date = new Date().toISOString().slice(0, 10)
  }
  document.components.parameters.AppKey.schema.default = workspace
  return document
}

const form = document.getElementById('sign-in')
let signedIn = []

/** One sign-in for all operations: each uses the key that it needs. */
form.addEventListener('submit', (event) => {
  event.preventDefault()
  const given = new FormData(form)
  const workspace = given.get('workspace').trim()
  const kinds = Object.keys(SCHEMES).filter((kind) => given.get(kind) !== '')
  // Swagger UI knows no log-out before the first sign-in.
  if (signedIn.length > 0) reference.authActions.logout(signedIn)
  signedIn = kinds.map((kind) => SCHEMES[kind])
  for (const kind of kinds) reference.preauthorizeBasic(SCHEMES[kind], workspace, given.get(kind).trim())
  const current = reference.specSelectors.specJson().toJS()
  reference.specActions.updateSpec(JSON.stringify(completeDocument(current, workspace)))
  const keys = kinds.length === 0 ? 'no key' : kinds.map((kind) => `the ${kind} key`).join(' and ')
  document.getElementById('signed-in').value = `Requests use the workspace ${workspace} and ${keys}.`
})

const reference = window.SwaggerUIBundle({
  // Beside the page, so that it is found behind a proxy that serves Tidings under a path of its own.
  url: 'openapi.json',
  dom_id: '#reference',
  layout: 'BaseLayout',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  plugins: [mendSwaggerUi],
  // Otherwise keys would stay in the browser for its next user.
  persistAuthorization: false,
  // The page shows that a key was refused. With credentials, the browser would ask for another one itself, and store it.
  requestInterceptor: (request) => ({ ...request, credentials: 'omit' }),
  // The badge would send the document to another server.
  validatorUrl: null,
})
