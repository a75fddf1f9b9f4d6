// Numbers, dates and sizes as people read them: by Intl, in English, with the region of the browser if it is an English one, and in the
// zone of the workspace.

const LANGUAGE = navigator.languages.find((language) => /^en\b/.test(language)) ?? 'en-GB'

const whole = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 0 })
const compact = new Intl.NumberFormat(LANGUAGE, { notation: 'compact', maximumFractionDigits: 1 })
const percent = new Intl.NumberFormat(LANGUAGE, {
  style: 'percent',
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
})
const exactPercent = new Intl.NumberFormat(LANGUAGE, {
  style: 'percent',
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
})
const change = new Intl.NumberFormat(LANGUAGE, {
  style: 'percent',
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
  signDisplay: 'exceptZero',
})
const decimal = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 2 })
const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'auto' })

export function formatCount(value: number): string {
  return whole.format(value)
}

/** For tiles and axes: 1.2M. */
export function formatCompact(value: number): string {
  return compact.format(value)
}

/** `part`: 0 to 1. */
export function formatShare(part: number): string {
  return percent.format(part)
}

/** `value`: a percentage as the API has it, with two decimals: «41.20%». */
export function formatPercent(value: number): string {
  return exactPercent.format(value / 100)
}

/** The same with its sign: «+3.10%». */
export function formatChange(value: number): string {
  return change.format(value / 100)
}

export function formatDecimal(value: number): string {
  return decimal.format(value)
}

const SIZES = ['bytes', 'KB', 'MB', 'GB', 'TB'] as const

export function formatBytes(bytes: number): string {
  const step = bytes < 1000 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${decimal.format(Math.round((bytes / 1000 ** step) * 10) / 10)} ${SIZES[step]}`
}

/** «1 template», «2 templates». */
export function formatCounted(count: number, singular: string, plural = `${singular}s`): string {
  return `${whole.format(count)} ${count === 1 ? singular : plural}`
}

const dateFormats = new Map<string, Intl.DateTimeFormat>()

function dateFormat(zone: string, style: 'instant' | 'exact' | 'day'): Intl.DateTimeFormat {
  const key = `${style} ${zone}`
  let format = dateFormats.get(key)
  if (!format) {
    const options: Intl.DateTimeFormatOptions =
      style === 'day'
        ? { dateStyle: 'medium', timeZone: zone }
        : { dateStyle: 'medium', timeStyle: style === 'exact' ? 'long' : 'short', timeZone: zone }
    format = new Intl.DateTimeFormat(LANGUAGE, options)
    dateFormats.set(key, format)
  }
  return format
}

/** `at`: ISO 8601, or milliseconds. */
export function formatInstant(at: string | number, zone: string): string {
  return dateFormat(zone, 'instant').format(new Date(at))
}

/** To the second, with the zone. */
export function formatExact(at: string | number, zone: string): string {
  return dateFormat(zone, 'exact').format(new Date(at))
}

/** `date`: `2026-03-01`, a day of the workspace. */
export function formatDay(date: string): string {
  return dateFormat('UTC', 'day').format(new Date(`${date}T00:00:00Z`))
}

const shortDay = new Intl.DateTimeFormat(LANGUAGE, { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** «1 Mar»: for axes. */
export function formatShortDay(date: string | number): string {
  return shortDay.format(typeof date === 'number' ? date : new Date(`${date}T00:00:00Z`))
}

/** «1–31 Mar 2026». */
export function formatDays(first: string, last: string): string {
  return dateFormat('UTC', 'day').formatRange(new Date(`${first}T00:00:00Z`), new Date(`${last}T00:00:00Z`))
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]

/** «3 minutes ago», «in 2 days». */
export function formatAgo(at: string | number): string {
  const distance = new Date(at).getTime() - Date.now()
  const [unit, length] = UNITS.find(([, ms]) => Math.abs(distance) >= ms) ?? ['second', 1_000]
  return relative.format(Math.round(distance / length), unit)
}

const LENGTHS: readonly (readonly [name: string, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
]

/** «2 minutes», rounded up to the largest unit that fits. */
export function formatDuration(seconds: number): string {
  const [name, length] = LENGTHS.find(([, size]) => seconds >= size) ?? (['second', 1] as const)
  return formatCounted(Math.ceil(seconds / length), name)
}
