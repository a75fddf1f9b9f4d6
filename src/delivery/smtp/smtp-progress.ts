// Follows an exchange with a server, so that a failure is told with its stage. Nodemailer's errors do not always name it: when the
// connection ends, all say `CONN`. But its connection tells a logger of each command and reply (option `transactionLog`), and of the
// end of the content, so this is a logger. It relies on this form of Nodemailer 10, and a test for each stage proves it:
// `debug({ tnx: 'client' }, command)`, `debug({ tnx: 'server' }, reply)`, and `info({ tnx: 'message' })` once the final dot is written.
import type { SmtpStage } from '../../core/delivery/failures.ts'

/** Commands that belong to a stage. Others, such as the lines of AUTH, belong to the stage that was begun. */
const STAGE_OF_COMMAND: Readonly<Record<string, SmtpStage>> = {
  EHLO: 'greeting',
  HELO: 'greeting',
  STARTTLS: 'tls',
  MAIL: 'mail',
  RCPT: 'rcpt',
  DATA: 'data',
}

interface LogLine {
  readonly tnx?: string
}

/** A refusal of MAIL FROM or RCPT TO: the transaction is over, whatever comes after it. */
interface Refusal {
  readonly stage: SmtpStage
  readonly raw: string
}

export class SmtpProgress {
  /** Stages of commands without a reply; more than one with PIPELINING. */
  #awaited: SmtpStage[] = []
  #answered: SmtpStage
  #begun: SmtpStage
  #refusal: Refusal | undefined
  #isContentDue = false
  #isDotWritten = false
  #isClosed = false
  #extensions = ''

  constructor() {
    this.#begun = 'greeting'
    this.#answered = 'greeting'
  }

  /** A new part of the exchange: nothing of the earlier ones matters. */
  begin(stage: SmtpStage): void {
    this.#awaited = []
    this.#begun = stage
    this.#answered = stage
    this.#refusal = undefined
    this.#isContentDue = false
    this.#isDotWritten = false
  }

  /** The stage at which the connection is, or was when it ended. */
  get stage(): SmtpStage {
    return this.#awaited[0] ?? this.#answered
  }

  /** The stage of the last reply. */
  get answered(): SmtpStage {
    return this.#answered
  }

  get refusal(): Refusal | undefined {
    return this.#refusal
  }

  /** The socket has closed: a line that Nodemailer still reports was cut off, and is no reply. */
  close(): void {
    this.#isClosed = true
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The server waits for content: a command in its place would become part of the message. */
  get isWithinContent(): boolean {
    return this.#isContentDue && !this.#isDotWritten && !this.#refusal
  }

  /** Whether the server offered an extension, such as `SMTPUTF8`. */
  offers(extension: string): boolean {
    return this.#extensionLine(extension) !== undefined
  }

  /** The greatest message that the server takes, in bytes; undefined if it does not say. */
  get sizeMax(): number | undefined {
    const size = Number(this.#extensionLine('SIZE')?.slice('SIZE '.length))
    return size > 0 ? size : undefined
  }

  debug({ tnx }: LogLine, line: string): void {
    if (tnx === 'client') this.#sent(line)
    else if (tnx === 'server') this.#received(line)
  }

  info({ tnx }: LogLine): void {
    if (tnx !== 'message') return
    this.#isDotWritten = true
    this.#awaited.push('sent')
  }

  warn(): void {}

  error(): void {}

  #sent(line: string): void {
    const command = /^[A-Z]+/.exec(line)?.[0] ?? ''
    this.#awaited.push(this.#begun === 'auth' ? 'auth' : (STAGE_OF_COMMAND[command] ?? this.#begun))
  }

  #received(raw: string): void {
    if (this.#isClosed) return
    this.#answered = this.#awaited.shift() ?? this.#answered
    if (this.#answered === 'greeting' && raw.startsWith('2')) this.#extensions = raw
    if ((this.#answered === 'mail' || this.#answered === 'rcpt') && !raw.startsWith('2')) {
      this.#refusal ??= { stage: this.#answered, raw }
    }
    if (this.#answered === 'data' && /^[23]/.test(raw)) this.#isContentDue = true
  }

  #extensionLine(extension: string): string | undefined {
    const lines = this.#extensions.split('\n').slice(1)
    const values = lines.map((line) => line.slice('250-'.length).trim().toUpperCase())
    return values.find((value) => value === extension || value.startsWith(`${extension} `))
  }
}
