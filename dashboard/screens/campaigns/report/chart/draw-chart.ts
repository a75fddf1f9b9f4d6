// Draws lines over days with uPlot, which is loaded only here. Colours come from the tokens, and follow the scheme of the person.
import uPlot from 'uplot'
import { formatCompact, formatShortDay } from '../../../../texts/format.ts'

const HEIGHT = 240
const MS = 1000
const NO_POINTS_FROM = 32

export interface ChartLine {
  readonly title: string
  /** A colour of CSS. */
  readonly colour: string
  readonly isDashed: boolean
  readonly values: readonly number[]
  /** Of all days. */
  readonly sum: number
}

export interface DrawnChart {
  readonly remove: () => void
}

export interface ChartOptions {
  readonly dates: readonly string[]
  readonly lines: readonly ChartLine[]
  /** Called with the index of the day under the pointer. */
  readonly onDay: (index: number | undefined) => void
}

export function drawChart(frame: HTMLElement, options: ChartOptions): DrawnChart {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  let chart = draw(frame, options)
  const size = new ResizeObserver(() => chart.setSize({ width: frame.clientWidth, height: HEIGHT }))
  const recolour = () => {
    chart.destroy()
    chart = draw(frame, options)
  }
  size.observe(frame)
  dark.addEventListener('change', recolour)
  return {
    remove() {
      size.disconnect()
      dark.removeEventListener('change', recolour)
      chart.destroy()
    },
  }
}

function draw(frame: HTMLElement, { dates, lines, onDay }: ChartOptions): uPlot {
  const colour = coloursOf(frame)
  const font = '12px system-ui, sans-serif'
  const grid = { stroke: colour('var(--line)'), width: 1 }
  const axis = { stroke: colour('var(--quiet)'), font, grid, ticks: { show: false } }
  const isDense = dates.length > NO_POINTS_FROM
  const options: uPlot.Options = {
    width: frame.clientWidth,
    height: HEIGHT,
    padding: [12, 24, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * MS), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    scales: { y: { range: (_chart, _min, max) => [0, Math.max(max * 1.05, 4)] } },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        space: 64,
        values: (_chart, ticks) => ticks.map((at) => formatShortDay(at * MS)),
      },
      {
        ...axis,
        size: 52,
        space: 40,
        incrs: WHOLE,
        values: (_chart, ticks) => ticks.map((value) => formatCompact(value)),
      },
    ],
    series: [
      {},
      ...lines.map(({ title, colour: token, isDashed }, index) => ({
        label: title,
        stroke: colour(token),
        width: 2,
        points: { show: !isDense && dates.length <= 2, size: 6 },
        ...(isDashed && { dash: [6, 4] }),
        ...(index === 0 && { fill: colour(`color-mix(in srgb, ${token} 9%, transparent)`) }),
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onDay(cursor.idx ?? undefined)] },
  }
  const days = dates.map((date) => Date.parse(`${date}T00:00:00Z`) / MS)
  return new uPlot(options, [days, ...lines.map(({ values }) => [...values])], frame)
}

/** Steps of an axis that counts. */
const WHOLE = Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

/** The computed value of a colour, which the canvas needs: it knows no tokens. */
function coloursOf(frame: HTMLElement): (value: string) => string {
  const probe = document.createElement('span')
  probe.hidden = true
  return (value) => {
    probe.style.color = value
    frame.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}
