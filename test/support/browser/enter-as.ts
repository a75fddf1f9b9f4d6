// Gives a page the session of somebody who is signed in.
import type { Page } from 'playwright-core'
import type { SignedInPerson } from '../accounts/sign-in-as.ts'

export async function enterAs(page: Page, { cookie }: Pick<SignedInPerson, 'cookie'>): Promise<void> {
  const [name = '', value = ''] = cookie.split('=')
  const own = { domain: '127.0.0.1', path: '/', secure: true, httpOnly: true, sameSite: 'Lax' } as const
  await page.context().addCookies([{ name, value, ...own }])
}
