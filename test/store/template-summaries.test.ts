// Checks that versions of templates which an earlier version of Tidings stored are summarized when the tables are migrated.
import { expect, it } from 'vitest'
import { firstVersion, nextVersion, type TemplateVersion } from '../../src/core/templates/template.ts'
import { migrate, MIGRATIONS } from '../../src/store/migrations.ts'
import { openDatabase } from '../../src/store/open-database.ts'
import { listTemplateSummaries } from '../../src/store/templates/template-summaries.ts'
import { addTemplateVersion } from '../../src/store/templates/template-versions.ts'
import { describeEachStore, makeLocation } from '../support/stores.ts'

const EARLIER = Object.entries(MIGRATIONS).filter(([name]) => name < '0019')
/** More than the migration reads at once. */
const VERSIONS = 25

describeEachStore('The migration of template versions', (kind) => {
  it('summarizes each version, with what it changed', async () => {
    const location = await makeLocation(kind)
    const database = openDatabase(location)
    await migrate(database, 1, undefined, Object.fromEntries(EARLIER))
    await database.write(async (store) => {
      for (const workspace of ['a', 'b']) {
        for (const made of versionsOf('one', VERSIONS)) await addTemplateVersion(store, workspace, made)
        for (const made of versionsOf('two', 1)) await addTemplateVersion(store, workspace, made)
      }
    })
    await migrate(database, 2)
    const list = (workspace: string, id: string) =>
      listTemplateSummaries(database, workspace, { id, before: undefined, max: 100 })
    const found = { a: await list('a', 'one'), b: await list('b', 'one'), two: await list('b', 'two') }
    await database.close()
    await location.remove()
    const changed = ['basic_details.subject']
    const expected = Array.from({ length: VERSIONS }, (_, index) => VERSIONS - index).map((version) => ({
      externalTemplateId: 'one',
      version,
      subject: `Subject ${version}`,
      updatedAt: version,
      updatedBy: 'ben',
      changed,
    }))
    const first = { externalTemplateId: 'one', version: 1, subject: '', updatedAt: 1, updatedBy: 'ann', changed: [] }
    expect(found.a).toEqual([...expected.slice(0, -1), first])
    expect(found.b).toEqual(found.a)
    expect(found.two).toEqual([{ ...first, externalTemplateId: 'two' }])
  })
})

/** The versions of a template, each of which changes the subject. */
function versionsOf(id: string, count: number): TemplateVersion[] {
  const meta = {
    templateId: id,
    templateName: id,
    templateVersion: '1',
    templateType: 'CUSTOM',
    createdBy: 'ann',
    groupId: null,
    locale: null,
    variation: null,
  } as const
  const details = { emailContent: 'x', subject: '', attachments: [], thumbnailUrl: '', senderName: '' }
  const versions = [firstVersion(id, { details, meta, source: 'API' }, 1)]
  for (let version = 2; version <= count; version++) {
    const latest = versions.at(-1) as TemplateVersion
    const change = { details: { subject: `Subject ${version}` }, meta: {} }
    versions.push(nextVersion({ latest, role: 'single', archivedAt: null }, change, { updatedBy: 'ben', now: version }))
  }
  return versions
}
