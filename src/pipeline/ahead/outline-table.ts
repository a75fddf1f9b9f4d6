// Outlines of customers in campaigns, tens of thousands of them, in a few arrays of numbers: as objects that change all the time
// they would keep V8's collector busy. A customer who has no event any more that a goal of the campaign names is quiet there from an
// instant on.
import type { CustomerCampaign } from '../../core/campaigns/facts.ts'
import { FACTS_MAX, type Outline, type Trait } from '../contributions/shapes.ts'

export class OutlineTable {
  /** Campaign → customer → its place. */
  readonly #places = new Map<number, Map<number, number>>()
  #freed: number[] = []
  #used = 0
  /** Of each place: how many facts there are, and the devices in them. */
  readonly #sizes: Uint8Array
  #devices: (readonly string[])[] = []
  /** `FACTS_MAX` for each place: the trait and the instant of a fact, and which of the devices it has; 0 for none. */
  readonly #traits: Uint32Array
  readonly #instants: Float64Array
  readonly #deviceNumbers: Uint8Array
  /** Of each place; Infinity where nothing is known. */
  readonly #quietSince: Float64Array
  /** By their numbers. */
  #traitOf: Trait[] = []

  /** For so many; the system gives memory only to those that are used. */
  constructor(places: number) {
    this.#sizes = new Uint8Array(places)
    this.#traits = new Uint32Array(places * FACTS_MAX)
    this.#instants = new Float64Array(places * FACTS_MAX)
    this.#deviceNumbers = new Uint8Array(places * FACTS_MAX)
    this.#quietSince = new Float64Array(places)
  }

  get size(): number {
    return this.#used - this.#freed.length
  }

  clear(): void {
    this.#places.clear()
    this.#freed = []
    this.#used = 0
    this.#devices = []
    this.#traitOf = []
  }

  get(pair: CustomerCampaign): Outline | undefined {
    const place = this.#find(pair)
    if (place === undefined) return undefined
    const names = this.#devices[place] as readonly string[]
    const first = place * FACTS_MAX
    return Array.from({ length: this.#sizes[place] as number }, (_, fact) => ({
      trait: this.#traitOf[this.#traits[first + fact] as number] as Trait,
      instant: this.#instants[first + fact] as number,
      device: names[(this.#deviceNumbers[first + fact] as number) - 1],
    }))
  }

  /** There are `FACTS_MAX` facts at the most, and a place for them. */
  set({ campaign, customer }: CustomerCampaign, outline: Outline): void {
    const place = this.#placeOf(campaign, customer)
    let names = this.#devices[place] ?? []
    let index = place * FACTS_MAX
    for (const { trait, instant, device } of outline) {
      if (device !== undefined && !names.includes(device)) names = [...names, device]
      this.#traitOf[trait.number] = trait
      this.#traits[index] = trait.number
      this.#instants[index] = instant
      this.#deviceNumbers[index] = device === undefined ? 0 : names.indexOf(device) + 1
      index++
    }
    this.#devices[place] = names
    this.#sizes[place] = outline.length
  }

  /** Of a pair that is here, as `noteQuiet`; Infinity where nothing is known. */
  quietSince(pair: CustomerCampaign): number {
    return this.#quietSince[this.#find(pair) as number] as number
  }

  noteQuiet(pair: CustomerCampaign, since: number): void {
    this.#quietSince[this.#find(pair) as number] = Math.min(since, this.quietSince(pair))
  }

  delete({ campaign, customer }: CustomerCampaign): void {
    const customers = this.#places.get(campaign)
    const place = customers?.get(customer)
    if (place === undefined) return
    customers?.delete(customer)
    this.#devices[place] = []
    this.#freed.push(place)
  }

  #find({ campaign, customer }: CustomerCampaign): number | undefined {
    return this.#places.get(campaign)?.get(customer)
  }

  #placeOf(campaign: number, customer: number): number {
    const customers = this.#places.get(campaign) ?? new Map<number, number>()
    if (customers.size === 0) this.#places.set(campaign, customers)
    const known = customers.get(customer)
    if (known !== undefined) return known
    const place = this.#freed.pop() ?? this.#used++
    this.#quietSince[place] = Infinity
    customers.set(customer, place)
    return place
  }
}
