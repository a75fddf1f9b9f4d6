// Start campaign: begins to send it, or schedules it.
import { startByKey } from '../../delivery/start/start-campaign.ts'
import { defineStateChange } from './change-state.ts'
import { toStartSurroundings } from './start-surroundings.ts'

export const startCampaign = defineStateChange({
  name: 'start_campaign',
  summary: 'Start campaign',
  description:
    'Starts a draft with `delivery`: at once, or at its `start_at`. Checks everything first, and the 400 names every fault: a ' +
    'missing sender, segment, template, version or coupon list, errors in Liquid with line and column, a `start_at` in ' +
    'the past. From then on `delivery` cannot change, and the newest versions of its templates are pinned. Starting it ' +
    'again changes nothing; in any other state the response is 409. Get campaign shows `warnings`, such as links ' +
    'without https. Needs no body.',
  verb: 'start',
  async change(key, request, parts) {
    const { database, countWarning, queue } = parts
    const { workspace } = request
    const surroundings = toStartSurroundings(request, parts)
    // The content of templates may have megabytes, so each workspace checks one campaign at a time.
    const work = () => startByKey(database, key, { ...surroundings, by: request })
    const warnings = await queue.run(`starts ${workspace.id}`, work, workspace.limits.management_per_minute)
    for (const { kind } of warnings) countWarning('start_campaign', kind)
  },
})
