// The line of time of a person: pages of several lists become pages of one, newest first, without gaps and repeats.
import { expect, it } from 'vitest'
import { readTimeline, type ReadList } from '../../dashboard/screens/users/read-timeline.ts'

interface Item {
  readonly at: string
}

const PER_PAGE = 3

/** A list of these times in pages, the newest first. */
function listOf(times: readonly string[]): ReadList<Item> {
  const sorted = times.toSorted().toReversed()
  return async (before = '0') => {
    const end = Number(before) + PER_PAGE
    const items = sorted.slice(Number(before), end).map((at) => ({ at }))
    return { items, next: end < sorted.length ? String(end) : undefined }
  }
}

async function readAll(lists: readonly (readonly string[])[]): Promise<string[][]> {
  const pages: string[][] = []
  for (let page = 1; ; page++) {
    const { data, hasMore } = await readTimeline(lists.map(listOf), page)
    pages.push(data.map(({ at }) => at))
    if (!hasMore) return pages
  }
}

const cases: [what: string, lists: string[][]][] = [
  ['no list', []],
  ['empty lists', [[], []]],
  ['one list', [['a', 'b', 'c', 'd', 'e', 'f', 'g']]],
  [
    'lists that take turns',
    [
      ['a', 'c', 'e', 'g', 'i', 'k'],
      ['b', 'd', 'f', 'h'],
    ],
  ],
  ['lists of different ages', [['v', 'w', 'x', 'y', 'z'], ['a', 'b', 'c', 'd', 'e'], ['m']]],
  [
    'many of one time',
    [
      ['a', 'b', 'b', 'b', 'b', 'b', 'c'],
      ['b', 'b', 'd'],
    ],
  ],
]
it.each(cases)('A line of time from %s has everything once, newest first', async (_what, lists) => {
  expect((await readAll(lists)).flat()).toEqual(lists.flat().toSorted().toReversed())
})

it('A page ends before what an unread page of a list may precede', async () => {
  const lists = [
    ['a', 'b', 'c', 'd'],
    ['z', 'c'],
  ]
  expect(await readAll(lists)).toEqual([
    ['z', 'd', 'c', 'c'],
    ['b', 'a'],
  ])
})
