// `npm run mail-sink`: a sink for mails with a page that shows them, for development. Benches and tests start it as a process of its
// own, with `--json`: its first line of output then holds its addresses. It stops at SIGINT or SIGTERM.
import { parseArgs } from 'node:util'
import { startMailPage } from './mail-page.ts'
import { startMailSink } from './mail-sink.ts'

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '2525' },
    'page-port': { type: 'string', default: '8025' },
    /** Messages in memory. */
    kept: { type: 'string' },
    /** Gets a line for each accepted message. */
    file: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})

const sink = await startMailSink({
  port: Number(values.port),
  ...(values.kept === undefined ? {} : { keptMax: Number(values.kept) }),
  ...(values.file === undefined ? {} : { file: values.file }),
})
const page = await startMailPage(sink.mails, Number(values['page-port']))
const smtp = `${sink.host}:${sink.port}`
process.stdout.write(
  values.json ? `${JSON.stringify({ smtp, page: page.url })}\n` : `SMTP  ${smtp}\nMails ${page.url}\n`,
)

const stop = () => {
  process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM')
  void Promise.all([sink.stop(), page.stop()])
}
process.once('SIGINT', stop).once('SIGTERM', stop)
