// Starts the reference page in the browser. A file of its own, because the page allows no script inside of it.
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')

function followScheme() {
  document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
}

prefersDark.addEventListener('change', followScheme)
followScheme()

/**
 * In characters. Coloured text has an element for each of its words: with ten times as many the browser stands still for seconds.
 */
const COLOURED_LENGTH_MAX = 20_000

/** What Swagger UI lacks, as a plugin for it. */
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
  // Only bodies are typed into these, and nothing else tells those who cannot see one what it is.
  const wrapTextArea = (Plain, { React }) =>
    function TextArea(given) {
      return React.createElement(Plain, { 'aria-label': 'Request body', ...given })
    }
  return { wrapComponents: { SyntaxHighlighter: wrapHighlighter, TextArea: wrapTextArea } }
}

window.SwaggerUIBundle({
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
  // Keys would stay in the browser for whoever uses it next.
  persistAuthorization: false,
  // A refused key is shown here; with credentials the browser would ask for another one itself, and keep it.
  requestInterceptor: (request) => ({ ...request, credentials: 'omit' }),
  // The badge would send the document to another server.
  validatorUrl: null,
})
