// Which ids new workspaces may have.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { workspaceIn } from '../../../dashboard/data/workspace-address.ts'
import { DASHBOARD_NAMES, workspaceIdProblem } from '../../../src/core/workspaces/workspace-id.ts'

const SHAPE = 'must be 1 to 64 letters, digits, _ and -'
const TAKEN = 'must not be setup, invitation, reset, sign-in, assets: the dashboard has pages of that name'

describe('The id of a new workspace', () => {
  it.each([
    ['main', undefined],
    ['Shop_2-de', undefined],
    ['a'.repeat(64), undefined],
    ['a'.repeat(65), SHAPE],
    ['', SHAPE],
    ['the shop', SHAPE],
    ['shop/de', SHAPE],
    ['setup', TAKEN],
    ['sign-in', TAKEN],
    ['invitation', TAKEN],
    ['reset', TAKEN],
    ['assets', TAKEN],
    ['Setup', undefined],
    ['assets-2', undefined],
  ])('%j: %s', (id, problem) => {
    expect(workspaceIdProblem(id)).toBe(problem)
  })
})

describe('The names that the dashboard has in place of workspaces', () => {
  it('are all that its routes have there', () => {
    const routes = readFileSync(new URL('../../../dashboard/app.tsx', import.meta.url), 'utf8')
    const pages = [...routes.matchAll(/path="\/dashboard\/([\w-]+)/g)].map(([, name = '']) => name)
    expect([...pages, 'assets'].toSorted()).toEqual(DASHBOARD_NAMES.toSorted())
  })

  it('are no workspaces', () => {
    for (const name of DASHBOARD_NAMES) expect(workspaceIn(`/dashboard/${name}`)).toBeUndefined()
    expect(workspaceIn('/dashboard/setup-2/users')).toBe('setup-2')
  })
})
