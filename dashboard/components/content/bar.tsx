// A part of a whole as a bar. The numbers stand beside it.

interface BarProps {
  /** From 0 to 1. */
  readonly part: number
  /** What it shows, for readers of the screen. */
  readonly label: string
  readonly isWarning?: boolean
}

export function Bar({ part, label, isWarning = false }: BarProps) {
  const width = `${Math.min(Math.max(part, 0), 1) * 100}%`
  return (
    <span class={isWarning ? 'bar warn' : 'bar'} role="img" aria-label={label}>
      <span style={{ width }} />
    </span>
  )
}
