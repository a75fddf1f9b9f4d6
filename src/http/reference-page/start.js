// Starts the reference page in the browser. A file of its own, because the page allows no script inside of it.
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')

function followScheme() {
  document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
}

prefersDark.addEventListener('change', followScheme)
followScheme()

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
  // Keys would stay in the browser for whoever uses it next.
  persistAuthorization: false,
  // A refused key is shown here; with credentials the browser would ask for another one itself, and keep it.
  requestInterceptor: (request) => ({ ...request, credentials: 'omit' }),
  // The badge would send the document to another server.
  validatorUrl: null,
})
