// What each role sees of the dashboard and may do through it: exactly what the table of permissions says, for every screen that there is.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NAVIGATION } from '../../../dashboard/components/frame/navigation.ts'
import { TABS } from '../../../dashboard/components/frame/settings-page.tsx'
import { frameText } from '../../../dashboard/texts/frame.ts'
import { settingsText } from '../../../dashboard/texts/settings.ts'
import { SCREENS } from '../../../dashboard/workspace-pages.tsx'
import { rolesOf } from '../../../src/core/accounts/credential.ts'
import type { Permission } from '../../../src/core/accounts/permission.ts'
import { ROLES } from '../../../src/core/accounts/role.ts'
import { OPERATIONS } from '../../../src/operations/operations.ts'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { describeInChromium } from '../../support/browser/chromium.ts'
import { enterAs } from '../../support/browser/enter-as.ts'
import { withPage } from '../../support/browser/open-page.ts'
import { startServer, type TestServer } from '../../support/server.ts'

/** Stands for every id: who may not see a page is told so before it is looked for. */
const SOME_ID = '0198c0de-7a61-7bb1-9d0e-5f2a4c8b1e37'

const filled = (path: string) => path.replaceAll(/:\w+/g, SOME_ID)

it('leads by the navigation and the tabs of Settings to pages that there are once, and need the same', () => {
  const screens = SCREENS.map(({ path, needs }) => ({ path, needs }))
  const entries = NAVIGATION.flatMap((group) => group.entries.map(({ path, needs }) => ({ path: `/${path}`, needs })))
  const tabs = TABS.map(([tab, needs]) => ({ path: `/settings/${tab}`, needs }))
  expect(screens).toEqual(expect.arrayContaining([...entries, ...tabs]))
  expect(new Set(screens.map(({ path }) => path)).size).toBe(screens.length)
})

describeInChromium('A role in the dashboard', (browser) => {
  let server: TestServer
  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())

  describe.each(ROLES)('%s', (role) => {
    let person: SignedInPerson
    beforeAll(async () => void (person = await signInAs(server, role)))

    const includes = ({ needs }: { readonly needs: Permission }) => rolesOf(needs).includes(role)
    const refused = SCREENS.filter((screen) => !includes(screen))

    it('sees its pages in the navigation and in Settings, and no others', async () => {
      const pages = NAVIGATION.flatMap(({ entries }) => entries.filter(includes).map(({ title }) => title))
      const tabs = TABS.filter(([, needs]) => includes({ needs })).map(([tab]) => settingsText.tabs[tab])
      await withPage(browser(), { url: server.url }, async (page) => {
        await enterAs(page, person)
        await page.goto('/dashboard/main/settings/account')
        const shown = (name: string) => page.getByRole('navigation', { name, exact: true }).getByRole('link')
        await shown(settingsText.title).first().waitFor()
        expect(await shown(settingsText.title).allTextContents()).toEqual(tabs)
        const listed = (await shown(frameText.nav).allTextContents()).slice(1)
        expect(listed).toEqual([...pages, frameText.settings, frameText.reference])
      })
    })

    it('is told of every other page whose address it types that it is not included', async () => {
      await withPage(browser(), { url: server.url }, async (page) => {
        await enterAs(page, person)
        for (const { path } of refused) {
          await page.goto(`/dashboard/main${filled(path)}`)
          await page.getByRole('heading', { name: frameText.notAllowed }).waitFor()
        }
      })
      expect(refused.length === 0).toBe(role === 'owner')
    })

    it('gets 403 from every operation that these pages need', async () => {
      const needed = new Set<unknown>(refused.map(({ needs }) => needs))
      const operations = OPERATIONS.filter(({ requires }) => needed.has(requires))
      const answers = operations.map(async ({ name, method, url }) => {
        const path = filled(url.replace(':Workspace_ID', 'main'))
        const { status } = await server.call(method, path, { person, ...(method !== 'GET' && { body: {} }) })
        return { name, status }
      })
      expect(await Promise.all(answers)).toEqual(operations.map(({ name }) => ({ name, status: 403 })))
    })
  })
})
