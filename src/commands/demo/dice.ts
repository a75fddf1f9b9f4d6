// Numbers that look random, and that a seed repeats: the demo has the same data each time.

/** mulberry32: numbers from 0 to 1. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  isLucky(chance: number): boolean {
    return this.roll() < chance
  }

  /** A whole number, both ends included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.roll() * (most - least + 1))
  }

  /** A duration that is short more often than long. */
  soon(meanMs: number): number {
    return Math.round(-Math.log(1 - this.roll()) * meanMs)
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.roll() * values.length)] as Value
  }

  /** A value by its chance; undefined if none is drawn, for chances that add up to less than 1. */
  draw<Value>(chances: readonly (readonly [value: Value, chance: number])[]): Value | undefined {
    let rest = this.roll()
    return chances.find(([, chance]) => (rest -= chance) < 0)?.[0]
  }

  /** The same for chances that add up to 1. */
  choose<Value>(chances: readonly (readonly [value: Value, chance: number])[]): Value {
    return this.draw(chances) ?? (chances.at(-1)?.[0] as Value)
  }
}
