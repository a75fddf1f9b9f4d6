// Generates hostile bodies: examples with hostile values, names and structure, some with broken bytes.
import * as fc from 'fast-check'

const DEEP = 70

/** JSON of one value each; JSON.stringify would never write some of it. */
const HOSTILE_VALUES: readonly string[] = Object.values({
  words: ['null', 'true', 'false'],
  numbers: ['0', '-1', '0.5', '-0', '9007199254740993', '1e21', '1e400', '-1e400', '1e-400', '1'.padEnd(400, '0')],
  times: ['100000000000', '253402300800000', '"2026-05-04T10:00:00Z"', '"1969-12-31"', '"0000-00-00"'],
  noTexts: ['""', '" "', '"\\u0000"', '"a\\u0000b"', '"\\ud83d"', '"\\udc00\\ud800"', '"\\u202e\\ufeff\\uffff"'],
  names: ['"__proto__"', '"constructor"', '"svc_x"', `"'; drop table users; --"`, '"{{7*7}}"', '"%00"'],
  lengths: [`"${'x'.repeat(256)}"`, `"${'x'.repeat(257)}"`, `"${'😀'.repeat(256)}"`, `"${'x'.repeat(100_000)}"`],
  addresses: ['"a@b.example"', '" A@B.example "', '"@"', `"${'a'.repeat(64)}@${'b'.repeat(255)}"`],
  zones: ['"Europe/Berlin"', '"+02:00"'],
  lists: ['[]', '[[]]', '[null]', '['.repeat(9) + ']'.repeat(9), '['.repeat(DEEP) + ']'.repeat(DEEP)],
  objects: [
    '{}',
    '{"":""}',
    '{"svc_a":1}',
    '{"a":1,"a":2}',
    '{"\\u0000":1}',
    '{"\\ud800":1}',
    deepObject(12),
    deepObject(DEEP),
  ],
  poison: ['{"__proto__":{"isAdmin":true}}', '{"constructor":{"prototype":{"isAdmin":true}}}', '{"constructor":1}'],
  methods: ['{"toString":1,"valueOf":null,"hasOwnProperty":[]}', '{"length":-1}', '{"then":1}', '{"toJSON":1}'],
}).flat()

/** Names for members that are renamed or added. */
const HOSTILE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '',
  ' ',
  'svc_x',
  '\u0000',
  '\ud83d',
  'x'.repeat(257),
  '0',
  'length',
  'then',
]

/** One step of a mutation: `target` chooses the part of the body to change. */
const anyStep = fc.record({
  target: fc.nat(),
  change: fc.constantFrom('replace', 'replace', 'replace', 'remove', 'rename', 'add', 'repeat', 'wrap'),
  value: fc.constantFrom(...HOSTILE_VALUES),
  name: fc.constantFrom(...HOSTILE_NAMES),
})
type Step = typeof anyStep extends fc.Arbitrary<infer Value> ? Value : never

const anyByteChange = fc.record({
  kind: fc.constantFrom('flip', 'insert', 'cut', 'double', 'end'),
  at: fc.nat(),
  byte: fc.constantFrom(0x00, 0x01, 0x1f, 0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d, 0x80, 0xc0, 0xed, 0xf5, 0xff),
})
type ByteChange = typeof anyByteChange extends fc.Arbitrary<infer Value> ? Value : never

/** Mutated bodies of these examples: most are still JSON, some are not even text. */
export function anyHostileBody(examples: readonly unknown[]): fc.Arbitrary<Uint8Array> {
  const steps = fc.array(anyStep, { minLength: 1, maxLength: 4 })
  const bytes = fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(anyByteChange, { minLength: 1, maxLength: 3 }) },
  )
  return fc.tuple(fc.constantFrom(...examples), steps, bytes).map(([example, drawn, changes]) => {
    const text = drawn.reduce(mutate, JSON.stringify(example))
    return changes.reduce(changeBytes, new Uint8Array(Buffer.from(text)))
  })
}

/** One hostile text, for the parts of a request other than its body. */
export const anyHostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_NAMES, ...HOSTILE_VALUES.filter(({ length }) => length < 1_000)),
  fc.string({ unit: 'binary' }),
)

/** The body as a tree of texts, which can repeat a name and hold a number that is too large. */
type Tree = string | { readonly list: Tree[] } | { readonly members: [name: string, value: Tree][] }

function mutate(text: string, { target, change, value, name }: Step): string {
  const tree = toTree(text)
  // An earlier step may have made the text unparsable.
  if (tree === undefined) return text
  const holders = holdersOf(tree)
  const holder = holders[target % Math.max(1, holders.length)]
  if (!holder || change === 'wrap') return change === 'wrap' ? `[${text}]` : value
  if ('list' in holder) changeList(holder.list, target, change, value)
  else changeMembers(holder.members, { target, change, value, name })
  return toText(tree)
}

function changeList(list: Tree[], target: number, change: Step['change'], value: string): void {
  const index = target % Math.max(1, list.length)
  if (change === 'remove') list.splice(index, 1)
  else if (change === 'add' || list.length === 0) list.push(value)
  else if (change === 'repeat') list.push(...Array.from({ length: 20 }, () => list[index] as Tree))
  else list[index] = value
}

function changeMembers(members: [string, Tree][], { target, change, value, name }: Step): void {
  const index = target % Math.max(1, members.length)
  const member = members[index]
  if (change === 'add' || !member) members.push([name, value])
  else if (change === 'remove') members.splice(index, 1)
  else if (change === 'rename') member[0] = name
  else if (change === 'repeat') members.push(member)
  else member[1] = value
}

function changeBytes(bytes: Uint8Array, { kind, at, byte }: ByteChange): Uint8Array {
  const index = at % Math.max(1, bytes.length)
  switch (kind) {
    case 'flip':
      // An earlier cut may have left nothing to flip.
      return bytes.length === 0 ? bytes : bytes.with(index, byte)
    case 'insert':
      return Buffer.concat([bytes.subarray(0, index), Buffer.of(byte), bytes.subarray(index)])
    case 'cut':
      return bytes.subarray(0, index)
    case 'double':
      return Buffer.concat([bytes, bytes.subarray(index)])
    case 'end':
      return Buffer.concat([bytes, Buffer.of(byte)])
  }
}

function toTree(text: string): Tree | undefined {
  try {
    return fromValue(JSON.parse(text))
  } catch {
    return undefined
  }
}

function fromValue(value: unknown): Tree {
  if (Array.isArray(value)) return { list: value.map(fromValue) }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return { members: Object.entries(value).map(([name, member]) => [name, fromValue(member)]) }
}

function toText(tree: Tree): string {
  if (typeof tree === 'string') return tree
  if ('list' in tree) return `[${tree.list.map(toText).join(',')}]`
  return `{${tree.members.map(([name, value]) => `${JSON.stringify(name)}:${toText(value)}`).join(',')}}`
}

/** Every list and object of the body. */
function holdersOf(tree: Tree): Exclude<Tree, string>[] {
  if (typeof tree === 'string') return []
  const inside = 'list' in tree ? tree.list : tree.members.map(([, value]) => value)
  return [tree, ...inside.flatMap(holdersOf)]
}

function deepObject(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}
