// Connects to a server, with TLS at once where the settings say so. Nodemailer takes the connected socket: the stages `connect` and
// `tls` are told apart here.
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import type { SmtpStage } from '../../core/delivery/failures.ts'
import { silentFailure } from './smtp-failure.ts'

export interface SmtpAddress {
  readonly host: string
  readonly port: number
  /** `tls`: from the first byte. `starttls`: required, never skipped. `none`: no TLS. */
  readonly security: 'tls' | 'starttls' | 'none'
  /** Certificates, as PEM, that are trusted instead of the system's. */
  readonly trustedCertificates?: string
}

/** Rejects with SmtpFailure of stage `connect` or `tls`. Each of the two may take `timeoutMs`, the first with the lookup of the name. */
export async function openSmtpSocket(address: SmtpAddress, timeoutMs: number): Promise<Socket> {
  const { host, port, security } = address
  const socket = connect({ host, port, noDelay: true })
  await whenReady(socket, { event: 'connect', stage: 'connect', host, timeoutMs })
  if (security !== 'tls') return socket
  const secured = connectTls({ socket, host, ...tlsOptions(address) })
  try {
    await whenReady(secured, { event: 'secureConnect', stage: 'tls', host, timeoutMs })
  } catch (error) {
    socket.destroy()
    throw error
  }
  return secured
}

/** Certificates are verified, against the name of the host. */
export function tlsOptions({ host, trustedCertificates }: SmtpAddress): ConnectionOptions {
  return {
    rejectUnauthorized: true,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(trustedCertificates === undefined ? {} : { ca: trustedCertificates }),
  }
}

interface Awaited {
  readonly event: 'connect' | 'secureConnect'
  readonly stage: SmtpStage
  readonly host: string
  readonly timeoutMs: number
}

function whenReady(socket: Socket, { event, stage, host, timeoutMs }: Awaited): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(timer)
      socket.destroy()
      reject(silentFailure(stage, host, error))
    }
    const timer = setTimeout(() => fail(new Error(`No connection within ${timeoutMs} ms.`)), timeoutMs)
    // The listener stays: an error that comes between this and the next step must not end the process.
    socket.on('error', fail)
    socket.once('close', () => fail(new Error('The server closed the connection.')))
    socket.once(event, () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
