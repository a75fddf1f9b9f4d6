// A response that is JSON already. Its parts are neither serialized again nor copied.

/** An operation may return it instead of a value: the JSON in UTF-8, in pieces. */
export class JsonText {
  readonly pieces: readonly Uint8Array[]

  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces
  }

  get byteLength(): number {
    return this.pieces.reduce((bytes, piece) => bytes + piece.byteLength, 0)
  }

  /** An object whose first member, `name`, is a list of serialized values. For many small values: makes one piece. */
  static objectBeginningWith(
    name: string,
    written: readonly string[],
    members: Readonly<Record<string, unknown>>,
  ): JsonText {
    const after = JSON.stringify(members).slice(1)
    const comma = after.length > 1 ? ',' : ''
    return new JsonText([Buffer.from(`{${JSON.stringify(name)}:[${written.join(',')}]${comma}${after}`)])
  }

  /** An object whose last member, `name`, is an object of serialized members. Copies none of them. */
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
