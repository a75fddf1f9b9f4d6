// What the lists of the dashboard show beside the people and facts of `bulk-load.ts`: tracked events, campaigns, templates and a trail of
// changes.
import { saveTemplate } from '../../src/actions/save-template.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../src/core/event.ts'
import { firstVersion } from '../../src/core/templates/template.ts'
import { addAuditEntry } from '../../src/store/accounts/audit-entries.ts'
import { addCampaign, lockCampaigns } from '../../src/store/campaigns/campaigns.ts'
import type { Database } from '../../src/store/store.ts'
import { lockTemplates } from '../../src/store/templates/templates.ts'
import { addEvents, type StoredEvent } from '../../src/store/users/events.ts'
import { numberOf, type Loaded } from '../bulk-load.ts'
import { randomFrom } from '../population.ts'

const CAMPAIGNS = 1_000
const TEMPLATES = 2_000
const EVENTS_PER_WRITE = 10_000
/** The numbers of the events come after those of the loaded ones. */
const BEHIND_LOADED = 1_000_000 * EVENTS_PER_ENTRY_MAX
const FIRST_AT = Date.parse('2026-05-01T00:00:00Z')
const SECOND_MS = 1_000

/** Of a thousand events, one has the rare name; none has the platform TV. */
export const RARE_NAME = 'Subscription Cancelled'
const NAMES = ['Page Viewed', 'Product Viewed', 'Added To Cart', 'App Opened'] as const
const PLATFORMS = ['ANDROID', 'IOS', 'WEB'] as const

/** Adds so many tracked events of the loaded people, who take turns at random. */
export async function addDashboardRows(database: Database, { people }: Loaded, events: number): Promise<void> {
  for (let first = 0; first < events; first += EVENTS_PER_WRITE) {
    const count = Math.min(EVENTS_PER_WRITE, events - first)
    await database.write((store) =>
      addEvents(
        store,
        Array.from({ length: count }, (_, index) => makeEvent(first + index, people)),
      ),
    )
  }
  await database.write(async (store) => {
    await lockCampaigns(store, 'bench')
    for (let number = 1; number <= CAMPAIGNS; number++) {
      const name = `newsletter-${number}`
      const about = { platforms: [], goals: [], createdBy: 'bench', createdAt: FIRST_AT }
      await addCampaign(store, { id: name, workspaceId: 'bench', name, ...about })
    }
  })
  await database.write(async (store) => {
    await lockTemplates(store, 'bench')
    for (let number = 1; number <= TEMPLATES; number++) {
      const made = makeTemplate(number)
      await saveTemplate(store, 'bench', made)
      await addAuditEntry(store, toAuditEntry(made))
    }
  })
}

function makeEvent(index: number, people: number): StoredEvent {
  const random = randomFrom(index)
  const pick = <Choice>(choices: readonly Choice[]) => choices[Math.floor(random() * choices.length)] as Choice
  const time = FIRST_AT + index * SECOND_MS
  return {
    id: BEHIND_LOADED + numberOf(index),
    workspaceId: 'bench',
    userId: numberOf(Math.floor(random() * people)),
    givenId: null,
    action: index % 1_000 === 0 ? RARE_NAME : pick(NAMES),
    attributes: JSON.stringify({ product: `product-${index % 1_000}`, price: 9.99, currency: 'EUR', is_first: false }),
    platform: pick(PLATFORMS),
    appVersion: '3.1.0',
    deviceId: null,
    ip: null,
    projectCode: null,
    time,
    receivedAt: time,
  }
}

function makeTemplate(number: number) {
  const details = { emailContent: '<h1>News</h1>', subject: `News of week ${number}`, attachments: [] }
  const meta = {
    templateId: `news-${number}`,
    templateName: `News ${number}`,
    templateVersion: '1.0',
    templateType: 'CUSTOM',
    createdBy: 'key:reports',
    groupId: null,
    locale: null,
    variation: null,
  } as const
  const content = { details: { ...details, thumbnailUrl: '', senderName: 'News' }, meta, source: 'API' } as const
  return firstVersion(`template-${number}`, content, FIRST_AT + number * SECOND_MS)
}

function toAuditEntry({ externalTemplateId, meta, updatedAt, updatedBy }: ReturnType<typeof makeTemplate>) {
  return {
    workspaceId: 'bench',
    at: updatedAt,
    who: updatedBy,
    address: '127.0.0.1',
    action: 'create_template',
    kind: 'template',
    subjectId: externalTemplateId,
    subjectName: meta.templateName,
    requestId: null,
    changes: [{ field: 'meta_info.template_name', before: null, after: meta.templateName }],
    furtherChanges: 0,
  } as const
}
