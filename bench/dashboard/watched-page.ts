// Measures the dashboard in Chromium: how long a page takes to load, and how long after a click its new content is painted. Each page
// has a context of its own, so that it has nothing cached.
import type { Browser, BrowserContext, CDPSession, Page, Request } from 'playwright-core'
import { enterAs } from '../../test/support/browser/enter-as.ts'

/** Runs in the page: resolves when nothing on it is on its way any more and `isThere`, with the time after the next paint. */
const WATCH = `
  const whenShown = (isThere) => new Promise((resolve) => {
    const painted = () => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => resolve(performance.now())
      port2.postMessage(0)
    }
    const look = () => {
      const main = document.querySelector('main')
      if (!main || !isThere(main) || main.querySelector('.ghost, .ghost-number, .previous')) return
      observer.disconnect()
      requestAnimationFrame(painted)
    }
    const observer = new MutationObserver(look)
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
  })
  const click = (target) => {
    if (!target.startsWith('/')) return document.querySelector(target).click()
    const link = document.body.appendChild(document.createElement('a'))
    link.href = target
    link.click()
    link.remove()
  }
  const titleOf = (main) => main.querySelector('h1')?.textContent
  const CONTENT = '.table, .table-note, .empty, .report'
  globalThis.benched = {
    loaded: whenShown((main) => main.querySelector('h1')),
    follow: (target) => {
      const main = document.querySelector('main')
      const [text, title, path] = [main.textContent, titleOf(main), location.pathname]
      const began = performance.now()
      click(target)
      const isOther = (now) => now.textContent !== text && (location.pathname === path || titleOf(now) !== title)
      return whenShown((now) => now.querySelector(CONTENT) && isOther(now)).then((at) => at - began)
    },
  }`

/** What a page asked the server for to show something. */
export interface AskedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export interface ShownContent {
  readonly ms: number
  /** The processor time of the page's main thread meanwhile. On a busy machine, this says more. */
  readonly cpuMs: number
  readonly asked: readonly AskedRequest[]
}

export interface LoadedPage extends ShownContent {
  readonly firstPaintMs: number
}

export class WatchedPage {
  readonly #context: BrowserContext
  readonly #page: Page
  readonly #debugger: CDPSession
  #asked: AskedRequest[] = []

  private constructor(context: BrowserContext, page: Page, session: CDPSession) {
    this.#context = context
    this.#page = page
    this.#debugger = session
    page.on('request', (request) => this.#record(request))
  }

  /** `cookie`: of the session of somebody who is signed in. */
  static async open(browser: Browser, url: string, cookie: string): Promise<WatchedPage> {
    const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 844 } })
    const page = await context.newPage()
    await enterAs(page, { cookie })
    await page.addInitScript(WATCH)
    const session = await context.newCDPSession(page)
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    return new WatchedPage(context, page, session)
  }

  /** Opens an address anew, and waits for its numbers. The times count from the beginning of the navigation. */
  async load(address: string): Promise<LoadedPage> {
    this.#asked = []
    await this.#page.goto(address)
    const ms = await this.#page.evaluate<number>('benched.loaded')
    // The time of a new document begins with it.
    return { ms, cpuMs: await this.#readCpuMs(), asked: this.#asked, firstPaintMs: await this.#readFirstPaint() }
  }

  /** The first paint of an address that is no page of the dashboard. */
  async loadPlain(address: string): Promise<number> {
    await this.#page.goto(address)
    return this.#readFirstPaint()
  }

  /** Follows a link within the dashboard: an address, or the selector of a link on the page. */
  async follow(target: string): Promise<ShownContent> {
    this.#asked = []
    const cpuMsBefore = await this.#readCpuMs()
    const ms = await this.#page.evaluate<number>(`benched.follow(${JSON.stringify(target)})`)
    return { ms, cpuMs: (await this.#readCpuMs()) - cpuMsBefore, asked: this.#asked }
  }

  close(): Promise<void> {
    return this.#context.close()
  }

  async #readCpuMs(): Promise<number> {
    const { metrics } = await this.#debugger.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1_000
  }

  /** Waits for the entry, which Chromium makes after the frame. */
  #readFirstPaint(): Promise<number> {
    return this.#page.evaluate<number>(`new Promise((resolve) =>
      new PerformanceObserver((list) => resolve(list.getEntriesByName('first-contentful-paint')[0].startTime))
        .observe({ type: 'paint', buffered: true }))`)
  }

  #record(request: Request): void {
    if (request.resourceType() !== 'fetch' || request.url().endsWith('/changes')) return
    const { 'content-type': type, 'svc-appkey': workspace } = request.headers()
    const headers = { ...(type && { 'content-type': type }), ...(workspace && { 'svc-appkey': workspace }) }
    this.#asked.push({ method: request.method(), url: request.url(), headers, body: request.postData() })
  }
}
