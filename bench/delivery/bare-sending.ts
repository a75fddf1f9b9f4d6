// The baseline of `npm run bench -- delivery`: a bare loop over the SMTP sessions that delivery uses, to a sink in a process of its own.
// It sends one prepared message again and again, over the given number of connections.
import { openSmtpSession, type SmtpMail } from '../../src/delivery/smtp/smtp-session.ts'
import { startProcess, stopProcess } from '../processes.ts'

const SINK = '../test/support/mail-sink/run-mail-sink.ts'
/** Messages that the sink keeps: it would otherwise hold all of them in memory. */
const KEPT = 100

interface BareSending {
  readonly connections: number
  readonly seconds: number
  readonly messageBytes: number
}

/** Resolves with the messages that the sink accepted in a second. */
export async function measureBareSending({ connections, seconds, messageBytes }: BareSending): Promise<number> {
  const sink = await startProcess(SINK, ['--port', '0', '--page-port', '0', '--kept', String(KEPT), '--json'])
  try {
    const { smtp } = JSON.parse(sink.firstLine) as { smtp: string }
    const mail = prepareMail(messageBytes)
    const startedAt = performance.now()
    const until = startedAt + seconds * 1000
    const sent = await Promise.all(Array.from({ length: connections }, () => sendUntil(until, smtp, mail)))
    return sent.reduce((sum, count) => sum + count, 0) / ((performance.now() - startedAt) / 1000)
  } finally {
    await stopProcess(sink)
  }
}

async function sendUntil(until: number, smtp: string, mail: SmtpMail): Promise<number> {
  const [host = '', port] = smtp.split(':')
  const session = await openSmtpSession({ host, port: Number(port), security: 'none', clientName: 'bench.test' })
  let sent = 0
  for (; performance.now() < until; sent++) await session.send(mail, { beforeEnd: () => Promise.resolve() })
  await session.quit()
  return sent
}

/** One message of the given size, with lines as quoted-printable has them. */
function prepareMail(bytes: number): SmtpMail {
  const head = 'From: a@bench.test\r\nTo: b@bench.test\r\nSubject: Prepared\r\nContent-Type: text/html\r\n\r\n'
  const line = `${'<p>Lorem ipsum dolor sit amet, consetetur sadipscing elitr, sed.</p> '.padEnd(75, '.')}=\r\n`
  const raw = Buffer.from(head + line.repeat(Math.ceil(bytes / line.length))).subarray(0, bytes)
  return { from: 'a@bench.test', to: 'b@bench.test', raw, usesUtf8: false }
}
