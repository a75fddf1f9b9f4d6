// How the suites run: real processes and stores, two files at a time.
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The one file that takes minutes: begun last, it would run alone in the end. */
const LONGEST = 'test/cluster-faults-jetstream.test.ts'

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((left, right) => Number(isLongest(right)) - Number(isLongest(left)))
  }
}

function isLongest({ moduleId }: TestSpecification): boolean {
  return moduleId.endsWith(LONGEST)
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    sequence: { sequencer: LongestFirst },
  },
})
