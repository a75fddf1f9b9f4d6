// Mails that came back, as mail systems write them.

interface ReportMail {
  readonly to?: string
  readonly headers?: readonly string[]
  readonly text?: string
  readonly status: readonly string[]
  /** The headers of the returned message. */
  readonly returned?: readonly string[]
  readonly types?: readonly [report: string, status: string, returned: string]
}

const RFC_3464 = ['delivery-status', 'message/delivery-status', 'text/rfc822-headers'] as const
const RFC_6533 = ['delivery-status', 'message/global-delivery-status', 'message/global-headers'] as const
const RFC_5965 = ['feedback-report', 'message/feedback-report', 'message/rfc822'] as const

function reportMail({
  to = 'x@example.com',
  headers = [],
  text = '',
  status,
  returned = [],
  types = RFC_3464,
}: ReportMail) {
  const [report, statusType, returnedType] = types
  return [
    'From: MAILER-DAEMON@mx.example.net (Mail Delivery System)',
    `To: ${to}`,
    ...headers,
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${report}; boundary="=_b"`,
    '',
    '--=_b',
    'Content-Type: text/plain; charset=utf-8',
    '',
    text,
    '--=_b',
    `Content-Type: ${statusType}`,
    '',
    ...status,
    '',
    '--=_b',
    `Content-Type: ${returnedType}`,
    '',
    ...returned,
    '',
    '--=_b--',
    '',
  ].join('\r\n')
}

export function postfixDsn(
  token: string,
  status = '5.1.1',
  diagnostic = 'smtp; 550 5.1.1 <a@b.example>: User unknown',
) {
  return reportMail({
    to: `b+${token}@bounces.example.com`,
    headers: ['Auto-Submitted: auto-replied', 'Subject: Undelivered Mail Returned to Sender'],
    status: [
      'Reporting-MTA: dns; mx.example.net',
      'X-Postfix-Queue-ID: 4F2A',
      'Arrival-Date: Mon,  4 May 2026 10:00:01 +0000 (UTC)',
      '',
      'Final-Recipient: rfc822; a@b.example',
      'Original-Recipient: rfc822;a@b.example',
      'Action: failed',
      `Status: ${status}`,
      'Remote-MTA: dns; mx.b.example',
      `Diagnostic-Code: ${diagnostic}`,
    ],
  })
}

/** Exim always writes 5.0.0, and returns the message whole. */
export function eximDsn(token: string) {
  return reportMail({
    headers: [`Delivered-To: b+${token}@bounces.example.com`],
    text: 'SMTP error from remote mail server after RCPT TO:<a@b.example>:',
    status: [
      'Reporting-MTA: dns; exim.example.net',
      '',
      'Action: failed',
      'Final-Recipient: rfc822;a@b.example',
      'Status: 5.0.0',
      'Remote-MTA: dns; mx.b.example',
      'Diagnostic-Code: smtp; 550 No such recipient here',
    ],
    types: ['delivery-status', 'message/delivery-status', 'message/rfc822'],
    returned: ['Subject: Hello', 'Content-Type: multipart/alternative; boundary=inner', '', '--inner', '', 'Hi'],
  })
}

/** Exchange names the message only by the headers it returns. */
export function exchangeDsn(token: string) {
  return reportMail({
    status: [
      'Reporting-MTA: dns;mail.contoso.example',
      'Received-From-MTA: dns;sender.example',
      'Arrival-Date: Mon, 4 May 2026 10:00:02 +0000',
      '',
      'Final-Recipient: rfc822;a@contoso.example',
      'Action: failed',
      'Status: 5.1.10',
      'Diagnostic-Code: smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not',
      ' found by SMTP address lookup',
    ],
    returned: ['From: news@example.com', `Message-ID: <${token}@example.com>`, 'Subject: News'],
  })
}

export function gmailDsn(token: string) {
  return reportMail({
    headers: [`X-Original-To: "b+${token}@bounces.example.com"`],
    status: [
      'Reporting-MTA: dns; googlemail.com',
      'Arrival-Date: Mon, 04 May 2026 03:00:01 -0700 (PDT)',
      '',
      'Final-Recipient: rfc822; full@gmail.com',
      'Action: failed',
      'Status: 5.2.2',
      'Diagnostic-Code: smtp; 552-5.2.2 The email account that you tried to reach is over quota.',
      'Last-Attempt-Date: Mon, 04 May 2026 03:00:02 -0700 (PDT)',
    ],
  })
}

/** RFC 6533: addresses in UTF-8. */
export function globalDsn(token: string) {
  return reportMail({
    status: [
      `Original-Envelope-Id: ${token}`,
      'Reporting-MTA: dns; почта.example',
      '',
      'Final-Recipient: utf-8; анна@почта.example',
      'Action: failed',
      'Status: 5.7.1',
      'Diagnostic-Code: smtp; 550 5.7.1 Отказано',
    ],
    types: [...RFC_6533],
  })
}

export function statusDsn(token: string, ...status: readonly string[]) {
  return reportMail({
    to: `<b+${token}@bounces.example.com>`,
    status: ['Reporting-MTA: dns; m.example', '', ...status],
  })
}

/** Refused after the whole message was sent, without an enhanced code. */
export function refusedContentDsn(token: string) {
  return reportMail({
    to: `b+${token}@bounces.example.com`,
    text: '<a@b.example>: host mx.b.example said: 550 looks like spam (in reply to end of DATA command)',
    status: [
      'Reporting-MTA: dns; m.example',
      '',
      'Action: failed',
      'Status: 5.0.0',
      'Diagnostic-Code: smtp; 550 looks like spam',
    ],
  })
}

export function feedbackReport(token: string, type = 'abuse') {
  return reportMail({
    to: 'fbl@example.com',
    status: [
      `Feedback-Type: ${type}`,
      'User-Agent: SomeGenerator/1.0',
      'Version: 1',
      'Reporting-MTA: dns; mail.example.net',
    ],
    types: [...RFC_5965],
    returned: [
      'From: <news@example.com>',
      `Message-ID: <${token}@example.com>`,
      'Subject: Earn money',
      '',
      'Spam Spam',
    ],
  })
}

export function autoReply(token: string) {
  const headers = ['From: anna@b.example', `To: b+${token}@bounces.example.com`, 'Auto-Submitted: auto-replied']
  return [...headers, 'Subject: Out of office', '', 'I am away.', ''].join('\r\n')
}
