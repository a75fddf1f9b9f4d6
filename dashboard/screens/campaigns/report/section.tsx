// A section of a report: its title, what its numbers count, and the same numbers as CSV.
import type { ComponentChildren } from 'preact'
import { Card } from '../../../components/content/card.tsx'
import { Explain } from '../../../components/content/explain.tsx'
import { Time } from '../../../components/content/time.tsx'
import { Button } from '../../../components/controls/button.tsx'
import type { CsvCell } from '../../../../src/core/exports/csv-line.ts'
import { saveCsv, toCsv } from '../../../data/saved-files.ts'
import { useWorkspace } from '../../../data/session.ts'
import { formatDays } from '../../../texts/format.ts'
import { reportText } from '../../../texts/campaigns/report.ts'
import { shownText } from '../../../texts/shown.ts'
import { useReport } from './report-context.ts'

interface SectionProps {
  readonly title: string
  readonly lead?: ComponentChildren
  readonly actions?: ComponentChildren
  /** The numbers of the section. Without them there is nothing to save. */
  readonly csv?: () => { readonly head: readonly string[]; readonly rows: readonly (readonly CsvCell[])[] }
  readonly children: ComponentChildren
}

export function Section({ title, lead, actions, csv, children }: SectionProps) {
  const { campaign, question } = useReport()
  const save = () => {
    if (!csv) return
    const { head, rows } = csv()
    const name = [campaign.name, title, question.from, question.to].join(' ').replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    saveCsv(`${name}.csv`, toCsv(head, rows))
  }
  const download = csv && (
    <Button kind="quiet" icon="download" label={shownText.download(title)} onClick={save}>
      {reportText.download}
    </Button>
  )
  return (
    <Card
      isFlush
      title={title}
      lead={lead}
      actions={
        <>
          {actions}
          {download}
        </>
      }
    >
      {children}
    </Card>
  )
}

interface CountedProps {
  /** The number, as its label names it. */
  readonly what: string
  /** Which of its days decides. */
  readonly by: keyof typeof reportText.ofDay
  readonly children: string
}

/** Says what a number of the report counts, over which days, and as of when. */
export function Counted({ what, by, children }: CountedProps) {
  return (
    <Explain what={what}>
      <p>{children}</p>
      <CountedDays by={by} />
    </Explain>
  )
}

function CountedDays({ by }: Pick<CountedProps, 'by'>) {
  const { zone } = useWorkspace()
  const { question, processedUntil } = useReport()
  return (
    <p>
      {reportText.ofDay[by]} {reportText.scope(formatDays(question.from, question.to), zone)}, {reportText.asOf}{' '}
      <Time at={processedUntil} />.
    </p>
  )
}
