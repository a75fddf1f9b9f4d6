// The people of the demo: customers of a shop for things at home, in four languages.
import { DAY_MS } from '../../core/time-zone.ts'
import { Dice } from './dice.ts'

export const DEMO_LOCALES = ['en', 'de', 'fr', 'es'] as const
export type DemoLocale = (typeof DEMO_LOCALES)[number]

export const DEMO_CATEGORIES = {
  'New arrivals': { en: 'New arrivals', de: 'Neuheiten', fr: 'Nouveautés', es: 'Novedades' },
  Offers: { en: 'Offers', de: 'Angebote', fr: 'Promotions', es: 'Ofertas' },
  Magazine: { en: 'Magazine', de: 'Magazin', fr: 'Magazine', es: 'Revista' },
} as const satisfies Readonly<Record<string, Readonly<Record<DemoLocale, string>>>>

export interface DemoPerson {
  readonly customerId: string
  readonly email: string | null
  readonly locale: DemoLocale
  readonly attributes: Readonly<Record<string, unknown>>
  readonly tier: 'none' | 'silver' | 'gold'
  readonly platform: 'WEB' | 'IOS' | 'ANDROID'
  readonly signedUpAt: number
  /** How often the person visits the shop, and how likely they read mail: 1 is usual. */
  readonly interest: number
  readonly consent: 'OPTED_IN' | 'DOUBLE_OPTED_IN' | 'OPTED_OUT' | 'OPT_IN_PENDING' | undefined
  readonly categories: Readonly<Record<string, boolean>>
  readonly isGlobalControl: boolean
}

/** The identifier that members of the loyalty programme have. */
export const CARD_NUMBER = 'card_number'

/** Percent of the people whom no campaign reaches. */
export const GLOBAL_CONTROL_PERCENT = 3

interface Country {
  readonly locale: DemoLocale
  readonly codes: readonly string[]
  readonly timezone: string
  readonly cities: readonly string[]
  readonly first: readonly string[]
  readonly last: readonly string[]
}

const COUNTRIES: readonly (readonly [Country, chance: number])[] = [
  [
    {
      locale: 'en',
      codes: ['GB', 'GB', 'IE'],
      timezone: 'Europe/London',
      cities: ['London', 'Leeds', 'Bristol', 'Dublin', 'Glasgow', 'Cardiff', 'Manchester', 'York'],
      first:
        'Amelia Arthur Charlotte Edith Emily Freya George Grace Harry Isla Jack James Lily Noah Oliver Olivia Oscar Poppy Ruby Thomas'.split(
          ' ',
        ),
      last: 'Adams Baker Bennett Brown Carter Clarke Cooper Davies Evans Green Hall Hughes Jones Murphy Palmer Reid Smith Taylor Walker Wright'.split(
        ' ',
      ),
    },
    0.38,
  ],
  [
    {
      locale: 'de',
      codes: ['DE', 'DE', 'DE', 'AT', 'CH'],
      timezone: 'Europe/Berlin',
      cities: ['Berlin', 'Hamburg', 'München', 'Köln', 'Leipzig', 'Wien', 'Zürich', 'Freiburg'],
      first:
        'Anna Ben Clara Elias Emma Felix Greta Hannah Jonas Jörg Lea Leon Lina Luis Marie Max Mia Paul Sophie Theo'.split(
          ' ',
        ),
      last: 'Bauer Becker Fischer Hoffmann Huber Keller Klein Koch Krüger Lang Lehmann Maier Müller Neumann Richter Schäfer Schmidt Schulz Wagner Weber'.split(
        ' ',
      ),
    },
    0.3,
  ],
  [
    {
      locale: 'fr',
      codes: ['FR', 'FR', 'BE'],
      timezone: 'Europe/Paris',
      cities: ['Paris', 'Lyon', 'Nantes', 'Lille', 'Bordeaux', 'Bruxelles', 'Rennes', 'Strasbourg'],
      first:
        'Adèle Alice Arthur Camille Chloé Gabriel Hugo Inès Jules Léa Léo Louis Louise Lucas Manon Nathan Raphaël Rose Sacha Zoé'.split(
          ' ',
        ),
      last: 'Bernard Blanc Bonnet Dubois Dupont Durand Fontaine Garnier Girard Lambert Laurent Lefèvre Leroy Martin Mercier Moreau Petit Robert Roux Simon'.split(
        ' ',
      ),
    },
    0.18,
  ],
  [
    {
      locale: 'es',
      codes: ['ES'],
      timezone: 'Europe/Madrid',
      cities: ['Madrid', 'Barcelona', 'Sevilla', 'Valencia', 'Bilbao', 'Granada', 'Málaga', 'Zaragoza'],
      first:
        'Adrián Alba Álvaro Carla Carmen Daniel Diego Elena Hugo Irene Javier Julia Lucía María Mario Martín Noa Pablo Sara Sofía'.split(
          ' ',
        ),
      last: 'Alonso Castro Díaz Domínguez Fernández García Gil Gómez González López Martín Moreno Muñoz Navarro Ortega Pérez Romero Ruiz Sánchez Torres'.split(
        ' ',
      ),
    },
    0.14,
  ],
]

const SIGNED_UP_LATELY = 0.18
const DAYS_OF_CUSTOMERS_MAX = 1_100
const FIRST_NUMBER = 10_001

/** The first `count` people; `now` decides when they signed up. */
export function makePeople(
  count: number,
  { seed, now, days }: { seed: number; now: number; days: number },
): DemoPerson[] {
  const dice = new Dice(seed)
  return Array.from({ length: count }, (_, index) => makePerson(dice, FIRST_NUMBER + index, { now, days }))
}

function makePerson(dice: Dice, number: number, { now, days }: { now: number; days: number }): DemoPerson {
  const { locale, codes, timezone, cities, first, last } = dice.choose(COUNTRIES)
  const [firstName, lastName] = [dice.pick(first), dice.pick(last)]
  const isNew = dice.isLucky(SIGNED_UP_LATELY)
  const daysAgo = isNew ? dice.roll() * days : days + dice.roll() * (DAYS_OF_CUSTOMERS_MAX - days)
  const signedUpAt = Math.round(now - daysAgo * DAY_MS)
  const tier =
    dice.draw([
      ['gold', isNew ? 0.01 : 0.07],
      ['silver', isNew ? 0.05 : 0.2],
    ] as const) ?? 'none'
  const consent = dice.draw([
    ['OPTED_IN', 0.58],
    ['DOUBLE_OPTED_IN', 0.2],
    ['OPT_IN_PENDING', 0.07],
    ['OPTED_OUT', 0.09],
  ] as const)
  const mayReceive = consent === 'OPTED_IN' || consent === 'DOUBLE_OPTED_IN'
  const categories: Record<string, boolean> = mayReceive
    ? { 'New arrivals': dice.isLucky(0.72), Offers: dice.isLucky(0.85), Magazine: dice.isLucky(0.55) }
    : {}
  const born = `${dice.whole(1950, 2005)}-${twoDigits(dice.whole(1, 12))}-${twoDigits(dice.whole(1, 28))}`
  return {
    customerId: `C${number}`,
    email: dice.isLucky(0.02) ? null : `${plain(firstName)}.${plain(lastName)}.${number}@example.com`,
    locale,
    attributes: {
      first_name: firstName,
      last_name: lastName,
      city: dice.pick(cities),
      country: dice.pick(codes),
      locale,
      timezone,
      loyalty_tier: tier,
      points: tier === 'none' ? 0 : dice.whole(1, 60) * 25,
      birthday: born,
      customer_since: new Date(signedUpAt).toISOString().slice(0, 10),
    },
    tier,
    platform:
      dice.draw([
        ['IOS', 0.24],
        ['ANDROID', 0.2],
      ] as const) ?? 'WEB',
    signedUpAt,
    interest: interestOf(dice, tier),
    consent,
    categories: anyTrue(categories) ? categories : {},
    isGlobalControl: dice.isLucky(GLOBAL_CONTROL_PERCENT / 100),
  }
}

/** A third never comes, some come all the time. */
function interestOf(dice: Dice, tier: DemoPerson['tier']): number {
  if (dice.isLucky(tier === 'none' ? 0.34 : 0.08)) return 0
  return Math.min(6, 0.25 + dice.soon(1_000) / 1_000) * (tier === 'gold' ? 1.8 : 1)
}

/** Choices that are all false would opt the person out. */
function anyTrue(categories: Readonly<Record<string, boolean>>): boolean {
  return Object.values(categories).includes(true)
}

function plain(name: string): string {
  return name
    .toLowerCase()
    .replaceAll('ü', 'ue')
    .replaceAll('ö', 'oe')
    .replaceAll('ä', 'ae')
    .normalize('NFD')
    .replace(/[^a-z]/g, '')
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0')
}

/** The people as the lines of an import (NDJSON). */
export function toImportLines(people: readonly DemoPerson[]): string {
  return people
    .map(({ customerId, email, attributes, tier, consent, categories }) => {
      const row = { customer_id: customerId, attributes: { ...attributes, ...(email !== null && { email }) } }
      const chosen = Object.keys(categories).length > 0 ? { categories } : {}
      const card = tier === 'none' ? {} : { user_identifiers: { [CARD_NUMBER]: `J-${customerId.slice(1)}` } }
      return `${JSON.stringify({ ...row, ...card, ...(consent && { opt_in_status: consent }), ...chosen })}\n`
    })
    .join('')
}
