// Hands the reports in a request to `recordFeedback`.
import { recordFeedback, type ReportedFeedback } from '../../actions/feedback/record-feedback.ts'
import type { Feedback, Ignored } from '../../core/feedback/judge-bounce.ts'
import type { OperationRequest, Parts } from '../operation.ts'

export function record(
  reports: readonly ReportedFeedback[],
  { workspace, requestId, now, callerAddress: ip }: OperationRequest<object, object, unknown>,
  { database, log, appliedEntries, receiptClock }: Parts,
): Promise<(Feedback | Ignored)[]> {
  const waitUntilApplied = () => appliedEntries.wait()
  return recordFeedback(reports, { workspace, requestId, now, ip }, { database, log, waitUntilApplied, receiptClock })
}
