// An answer that is JSON already, so that its parts need not be written out again, nor copied, for each request.

/** What an operation may answer with instead of a value: its JSON in UTF-8, in the pieces it was put together from. */
export class JsonText {
  readonly pieces: readonly Uint8Array[]

  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces
  }

  get byteLength(): number {
    return this.pieces.reduce((bytes, piece) => bytes + piece.byteLength, 0)
  }

  /** An object whose first member, `name`, is a list of values that are written out already; for many small ones. */
  static objectBeginningWith(
    name: string,
    written: readonly string[],
    members: Readonly<Record<string, unknown>>,
  ): JsonText {
    const after = JSON.stringify(members).slice(1)
    const comma = after.length > 1 ? ',' : ''
    return new JsonText([Buffer.from(`{${JSON.stringify(name)}:[${written.join(',')}]${comma}${after}`)])
  }

  /** An object whose last member, `name`, is an object of members that are written out already. */
  static objectEndingWith(
    members: Readonly<Record<string, unknown>>,
    name: string,
    written: readonly (readonly [key: string, json: readonly Uint8Array[]])[],
  ): JsonText {
    const before = JSON.stringify(members).slice(0, -1)
    const comma = before.length > 1 ? ',' : ''
    const pieces: Uint8Array[] = [Buffer.from(`${before}${comma}${JSON.stringify(name)}:{`)]
    for (const [index, [key, json]] of written.entries()) {
      pieces.push(Buffer.from(`${index > 0 ? ',' : ''}${JSON.stringify(key)}:`), ...json)
    }
    return new JsonText([...pieces, Buffer.from('}}')])
  }
}
