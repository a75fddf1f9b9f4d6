// Faults under load in a cluster whose log is in PostgreSQL.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { declareCuts, declareDatabaseFaults, declareProcessFaults, FAULT_MS_MAX } from './cluster-faults.ts'
import { ClusterTrial } from './cluster-trial.ts'
import { describeOnPostgres } from '../support/stores.ts'

const START_MS_MAX = 120_000

describeOnPostgres('A cluster with its log', () => {
  let trial: ClusterTrial

  beforeAll(async () => {
    trial = await ClusterTrial.start('postgres')
  }, START_MS_MAX)
  afterAll(() => trial.cluster.remove(), START_MS_MAX)

  declareProcessFaults(() => trial)
  declareDatabaseFaults(() => trial)
  declareCuts(() => trial, {
    'HTTP and the database': ({ cluster }) => cluster.parts.toDatabase.http,
    'pipelines and the database': ({ cluster }) => cluster.parts.toDatabase.pipeline,
  })

  it('has everything in the end, and stops in order', { timeout: FAULT_MS_MAX }, async () => {
    expect(new Set(await trial.end()), 'statuses with which processes ended').toEqual(new Set([0]))
  })
})
