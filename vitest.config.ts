// How the suites run: real processes and stores, two files more at a time than there are processors, because some of it waits.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { INSTALLATION } from './test/support/setup/built-program.ts'
import { TEMPORARY_FOLDER } from './test/support/setup/temporary-folder.ts'

/** Suites that wait more than they compute. */
const WAITING = [
  'track-events',
  'operator-routes',
  'pipeline',
  'coupon-uploads',
  'report-effects',
  'stop-server',
  'merge-preferences',
  'diagnostics',
  'rate-limits',
  'move-interrupted',
  'lost-connection',
  'stopped-sender',
  'several-processes',
  'changes-under-way',
  'pace',
  'coupon-alerts',
  'acknowledged-users',
  'report-effects',
]
/** The longest of the others, which would run alone in the end if they were begun last. */
const LONG = [
  'campaign-statistics',
  'serve',
  'goal-backfills',
  'command-line',
  'hostile-input',
  'contributions',
  'statistics-commands',
  'crash',
  'crash-statistics',
  'killed-sender',
  'http-memory',
  'http-limits',
  'postgres-log',
  'list-user-events',
  'move-to-nats',
  'backup',
  'update-preferences',
  'without-store',
  'every-page',
  'campaign-editor',
]
/**
 * Begun first, and in this order. The suites about clusters take minutes, and what waits runs beside them, so that their servers
 * are not kept from the processors for seconds and take each other for dead.
 */
const FIRST = ['cluster-faults-jetstream', 'jetstream-log', ...WAITING, 'cluster-faults-postgres', ...LONG].map(
  (name) => `/${name}.test.ts`,
)

/**
 * Chromium takes the processors whole, so that servers of other suites would be late for what they promise. Its suites run after all
 * others, and only as many at a time as there are processors.
 */
const IN_CHROMIUM = 'test/{dashboard/**/*,delivery/smtp/mail-page}.test.ts'

/**
 * Suites whose requests take the fast path, which also run with `FAST_PATH=off` (`test/support/server.ts`). Those of all others go to
 * Node in any case, but for a few in suites about what happens later. `fast-path` compares the two paths itself.
 */
const WITHOUT_FAST_PATH = [
  'diagnostics',
  'hostile-input',
  'http-limits',
  'lifecycle',
  'request-body',
  'track-events',
  'track-events-retries',
  'track-user',
].map((name) => `test/**/${name}.test.ts`)

// For what runs before all suites, and for the processes of the suites.
process.env['TMPDIR'] = TEMPORARY_FOLDER

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((left, right) => rankOf(left) - rankOf(right))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = FIRST.findIndex((name) => moduleId.endsWith(name))
  return rank === -1 ? FIRST.length : rank
}

/**
 * Servers within a suite start the threads of `dist/`: from sources, the threads of one server take 0.5 s of processor time more.
 * Vitest caches transformed code on disk, so the path, which differs from run to run, is in the environment.
 */
const startBuiltThreads: Plugin = {
  name: 'start built threads',
  transform: (code) =>
    code.replaceAll(
      /new URL\((['"])\.\/([\w-]+-thread)\.ts\1, import\.meta\.url\)/g,
      (_url, _quote, name: string) => `new URL('${name}.js', process.env.BUILT_THREADS)`,
    ),
}

export default defineConfig({
  plugins: [startBuiltThreads],
  test: {
    projects: [
      { extends: true, test: { name: 'all', include: ['test/**/*.test.ts'], exclude: [IN_CHROMIUM] } },
      {
        extends: true,
        test: {
          name: 'dashboard',
          include: [IN_CHROMIUM],
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: 'no-fast-path', include: WITHOUT_FAST_PATH, env: { TEST_FAST_PATH: 'off' } } },
    ],
    pool: 'forks',
    maxWorkers: availableParallelism() + 2,
    // Files follow each other in one process, which has loaded what they need: loading is an eighth of the work of the shorter ones.
    isolate: false,
    globalSetup: ['postgres-server', 'migrated-stores', 'built-program'].map((name) =>
      join(import.meta.dirname, `test/support/setup/${name}.ts`),
    ),
    setupFiles: [join(import.meta.dirname, 'test/support/setup/after-file.ts')],
    // Each file has processes and threads of its own: they need not all compile the same sources. `bin/tidings` keeps them there too.
    env: {
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/tidings'),
      BUILT_THREADS: pathToFileURL(join(INSTALLATION, 'dist/')).href,
    },
    // For what never ends, not for what is slow: the slowest machine takes several times as long as the usual one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    sequence: { sequencer: LongestFirst },
  },
})
