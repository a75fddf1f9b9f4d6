// The one choice for all sections: which days, what counts as a conversion, total or people, and which platform, locale and variation.
import { ATTRIBUTION_TYPES } from '../../../../src/core/statistics/cells.ts'
import { Time } from '../../../components/content/time.tsx'
import { SelectField, Switch, TextField } from '../../../components/controls/field.tsx'
import { useAddress } from '../../../data/address.ts'
import { useWorkspace } from '../../../data/session.ts'
import { reportText } from '../../../texts/campaigns/report.ts'
import { formatDays } from '../../../texts/format.ts'
import { chosenDays, EVERYTHING, type Level, type ReportQuestion } from './question.ts'
import { namesIn, type StatsTree } from './report-context.ts'

interface FiltersProps {
  readonly question: ReportQuestion
  /** Undefined until the numbers are there, and where nothing is counted. */
  readonly tree: StatsTree | undefined
  readonly processedUntil: string | undefined
}

const ATTRIBUTIONS = ATTRIBUTION_TYPES.map((value) => ({ value, label: reportText.attributions[value] }))
const METRICS = (['UNIQUE', 'TOTAL'] as const).map((value) => ({ value, label: reportText.metrics[value] }))

export function Filters({ question, tree, processedUntil }: FiltersProps) {
  const address = useAddress()
  const { zone } = useWorkspace()
  const { from, to, attribution, metric } = question
  return (
    <section class="report-filters" aria-label={reportText.filters}>
      <div class="filters">
        <Days question={question} />
        <div class="field">
          <span class="label">{reportText.metric}</span>
          <Switch
            label={reportText.metric}
            value={metric}
            options={METRICS}
            onChange={(value) => address.set({ count: value === 'UNIQUE' ? undefined : value })}
          />
        </div>
        <SelectField
          name="attribution"
          label={reportText.attribution}
          value={attribution}
          options={ATTRIBUTIONS}
          onChange={(value) => address.set({ attribution: value === 'CLICK_THROUGH' ? undefined : value })}
        />
        {LEVELS.map((name) => (
          <LevelField key={name} name={name} level={question.level} tree={tree} />
        ))}
      </div>
      <p class="note" role="status">
        {reportText.scope(formatDays(from, to), zone)}
        {processedUntil !== undefined && (
          <>
            {' · '}
            {reportText.asOf} <Time at={processedUntil} />. {reportText.until}
          </>
        )}
      </p>
    </section>
  )
}

function Days({ question }: { readonly question: ReportQuestion }) {
  const address = useAddress()
  const { preset, presets, from, to } = question
  const choose = (days: string) =>
    address.set(days === 'dates' ? { days, from, to } : { days, from: undefined, to: undefined })
  const end = (name: 'from' | 'to') => (
    <TextField
      name={name}
      label={reportText[name]}
      type="date"
      value={question[name]}
      onInput={(date) => address.set(chosenDays(question, name, date))}
    />
  )
  return (
    <>
      <SelectField
        name="days"
        label={reportText.days}
        value={preset}
        options={presets.map((value) => ({ value, label: reportText.presets[value] }))}
        onChange={choose}
      />
      {preset === 'dates' && end('from')}
      {preset === 'dates' && end('to')}
    </>
  )
}

const LEVELS = ['platform', 'locale', 'variation'] as const

interface LevelFieldProps {
  readonly name: keyof Level
  readonly level: Level
  readonly tree: StatsTree | undefined
}

/** Offers what the days have; what the address names stays, although nothing is counted for it. */
function LevelField({ name, level, tree }: LevelFieldProps) {
  const address = useAddress()
  const chosen = level[name]
  const found = namesOf(name, level, tree)
  const names = found.includes(chosen) || chosen === EVERYTHING[name] ? found : [...found, chosen]
  const options = [EVERYTHING[name], ...names].map((value) => ({
    value,
    label: value === EVERYTHING[name] ? reportText.all[name] : value,
  }))
  return (
    <SelectField
      name={name}
      label={reportText[name]}
      value={chosen}
      options={options}
      onChange={(value) => address.set({ [name]: value === EVERYTHING[name] ? undefined : value })}
    />
  )
}

function namesOf(name: keyof Level, { platform, locale }: Level, tree: StatsTree | undefined): string[] {
  const { platforms } = tree ?? { platforms: {} }
  if (name === 'platform') return namesIn(platforms)
  const { locales } = platforms[platform] ?? platforms[EVERYTHING.platform] ?? { locales: {} }
  if (name === 'locale') return namesIn(locales)
  return namesIn((locales[locale] ?? locales[EVERYTHING.locale])?.variations)
}
