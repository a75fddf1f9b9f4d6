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
  // Otherwise keys would stay in the browser for its next user.
  persistAuthorization: false,
  // The page shows that a key was refused. With credentials, the browser would ask for another one itself, and store it.
  requestInterceptor: (request) => ({ ...request, credentials: 'omit' }),
  // The badge would send the document to another server.
  validatorUrl: null,
})
