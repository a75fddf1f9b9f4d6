// The third step: what people should do after the message.
import { GOALS_MAX } from '../../../../../src/core/campaigns/goal.ts'
import { Card } from '../../../../components/content/card.tsx'
import { Button } from '../../../../components/controls/button.tsx'
import { TextField } from '../../../../components/controls/field.tsx'
import { campaignEditorText } from '../../../../texts/campaigns/editor.ts'
import { useEventNames } from '../../../segments/conditions/condition-choices.ts'
import { Comparisons } from '../../../segments/conditions/leaf-editor.tsx'
import type { StepProps } from '../use-campaign-draft.ts'
import { NEW_GOAL, type GoalForm } from '../campaign-form.ts'

export function GoalsStep({ draft: { form, change } }: StepProps) {
  const { goals } = form
  const set = (index: number, goal: GoalForm) => change({ goals: goals.with(index, goal) })
  return (
    <Card title={campaignEditorText.goalsTitle} lead={campaignEditorText.goalsLead}>
      {goals.length === 0 && <p class="quiet-text">{campaignEditorText.noGoals}</p>}
      {goals.map((goal, index) => (
        <Goal
          key={index}
          goal={goal}
          title={campaignEditorText.goal(index)}
          name={`conversion_goals[${index}]`}
          onChange={(next) => set(index, next)}
          onRemove={() => change({ goals: goals.toSpliced(index, 1) })}
        />
      ))}
      {goals.length < GOALS_MAX && (
        <div>
          <Button icon="plus" onClick={() => change({ goals: [...goals, NEW_GOAL] })}>
            {campaignEditorText.addGoal}
          </Button>
        </div>
      )}
    </Card>
  )
}

interface GoalProps {
  readonly goal: GoalForm
  readonly title: string
  /** Its path in the body. */
  readonly name: string
  readonly onChange: (goal: GoalForm) => void
  readonly onRemove: () => void
}

function Goal({ goal, title, name, onChange, onRemove }: GoalProps) {
  const events = useEventNames()
  return (
    <div class="variation stack" role="group" aria-label={title}>
      <div class="row apart">
        <h3>{title}</h3>
        <Button kind="quiet" icon="x" label={campaignEditorText.removeGoal(goal.name || title)} onClick={onRemove} />
      </div>
      <div class="form-row">
        <TextField
          name={`${name}.name`}
          label={campaignEditorText.goalName}
          hint={campaignEditorText.goalNameHint}
          value={goal.name}
          onInput={(next) => onChange({ ...goal, name: next })}
        />
        <TextField
          name={`${name}.event`}
          label={campaignEditorText.goalEvent}
          hint={campaignEditorText.goalEventHint}
          offers={events}
          value={goal.event}
          onInput={(event) => onChange({ ...goal, event })}
        />
        <TextField
          name={`${name}.window_hours`}
          type="number"
          label={campaignEditorText.goalHours}
          hint={campaignEditorText.goalHoursHint}
          value={goal.hours}
          onInput={(hours) => onChange({ ...goal, hours })}
        />
      </div>
      <div class="condition-words">
        {goal.where.length > 0 && <span>{campaignEditorText.goalDetails}</span>}
        <Comparisons path={`${name}.where`} where={goal.where} onChange={(where) => onChange({ ...goal, where })} />
      </div>
    </div>
  )
}
