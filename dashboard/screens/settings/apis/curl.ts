// A request that works: the line for a terminal that tracks an event.

/** `key`: a key of the tile Data. */
export function curlOf(workspace: string, key: string): string {
  const event = { type: 'event', customer_id: 'ada', actions: [{ action: 'Order Placed', platform: 'WEB' }] }
  return [
    `curl -u '${workspace}:${key}' ${location.origin}/v1/event/${workspace} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(event)}'`,
  ].join('\n')
}
