// Lines over days. The legend shows the sums, or the numbers of the day under the pointer. What draws is loaded when it is shown.
import { useEffect, useRef, useState } from 'preact/hooks'
import { PartNotLoaded } from '../../../../components/frame/load-screen.tsx'
import { formatCount, formatDay } from '../../../../texts/format.ts'
import type { ChartLine } from './draw-chart.ts'

interface ChartProps {
  readonly label: string
  /** What the sums are of. */
  readonly days: string
  readonly dates: readonly string[]
  readonly lines: readonly ChartLine[]
}

export function Chart({ label, days, dates, lines }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [day, setDay] = useState<number | undefined>(undefined)
  const [error, setError] = useState<Error | undefined>(undefined)
  // Drawn again only if one of them has changed.
  const drawn = JSON.stringify({ dates, lines })
  useEffect(() => {
    let remove: (() => void) | undefined
    let isGone = false
    const draw = ({ drawChart }: typeof import('./draw-chart.ts')) => {
      const shown = JSON.parse(drawn) as Pick<ChartProps, 'dates' | 'lines'>
      if (!isGone && frame.current) ({ remove } = drawChart(frame.current, { ...shown, onDay: setDay }))
    }
    import('./draw-chart.ts').then(draw, setError)
    return () => {
      isGone = true
      remove?.()
    }
  }, [drawn])
  if (error) return <PartNotLoaded error={error} />
  const date = day === undefined ? undefined : dates[day]
  return (
    <figure class="chart">
      <figcaption class="legend">
        <span class="note">{date === undefined ? days : formatDay(date)}</span>
        {lines.map(({ title, colour, isDashed, values, sum }) => (
          <span key={title} class="legend-item">
            <span class={isDashed ? 'swatch dashed' : 'swatch'} style={{ borderColor: colour }} />
            {title} <strong class="number">{formatCount(day === undefined ? sum : (values[day] ?? 0))}</strong>
          </span>
        ))}
      </figcaption>
      <div class="chart-frame" ref={frame} role="img" aria-label={label} />
    </figure>
  )
}
