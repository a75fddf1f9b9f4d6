// The states of a message: one person in a run. Every change of a state is a row of this table.
//
// | from      | to        | by                                                                                            |
// |-----------|-----------|-----------------------------------------------------------------------------------------------|
// | (none)    | control   | the freeze: a control group gets nothing                                                      |
// | (none)    | removed   | the freeze: suppression, consent, frequency cap or duplicate                                  |
// | (none)    | queued    | the freeze                                                                                    |
// | queued    | sending   | a claim, when the message's turn comes                                                        |
// | deferred  | sending   | a claim, when its time has come                                                               |
// | sending   | removed   | the checks at its turn, rendering, a missing coupon, or the campaign was cancelled            |
// | sending   | sent      | the server accepted the message                                                               |
// | sending   | failed    | the server refused it for good, or time is up                                                 |
// | sending   | deferred  | the server refused it for now                                                                 |
// | sending   | queued    | no server was asked: the connection failed before, or the process died before the attempt      |
// | sending   | in_doubt  | the process died, or the connection ended, between the message and the reply                  |
// | in_doubt  | sent, failed, deferred or queued | the outcome of a process that was believed dead arrives after all      |
// | in_doubt  | queued    | somebody says: send again                                                                     |
// | in_doubt  | failed    | somebody says: give up                                                                        |

export const MESSAGE_STATES = [
  'removed',
  'control',
  'queued',
  'sending',
  'sent',
  'failed',
  'deferred',
  'in_doubt',
] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

/** The states of a message that a run is not finished with. */
export const OPEN_STATES = ['queued', 'sending', 'deferred'] as const satisfies readonly MessageState[]

/** Why the freeze, or the checks at a message's turn, removed it. The freeze takes the first of the first five that
 * holds. */
export const REMOVAL_REASONS = [
  'user_removed_due_to_hard_bounce',
  'user_removed_due_to_complaint',
  'user_removed_due_to_opt_out',
  'user_removed_due_to_frequency_capping',
  'user_removed_due_to_duplicate',
  'user_removed_due_to_personalization_failed',
  'user_removed_due_to_coupon_missing',
  'user_removed_due_to_cancelled',
  'user_removed_due_to_missing_address',
] as const
export type RemovalReason = (typeof REMOVAL_REASONS)[number]

/** Why a message failed. Its message event `failed` has the same reason. */
export const FAILURE_REASONS = [
  'hard_bounce',
  'soft_bounce',
  'gave_up',
  'blocked',
  'message_refused',
  'in_doubt',
] as const
export type FailureReason = (typeof FAILURE_REASONS)[number]
