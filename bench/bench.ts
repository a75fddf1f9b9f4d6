// `npm run bench [name]`: runs one bench and prints its table. Each bench measures a baseline in the same run, because machines are
// noisy: quote the ratios.
import { benchCluster } from './cluster.ts'
import { benchDashboard } from './dashboard/bench-dashboard.ts'
import { benchDelivery } from './delivery/bench-delivery.ts'
import { benchImport } from './imports/bench-import.ts'
import { benchStatistics } from './statistics.ts'
import { benchTracking } from './track-events.ts'

const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  'track-events': benchTracking,
  statistics: benchStatistics,
  cluster: benchCluster,
  dashboard: benchDashboard,
  import: benchImport,
  delivery: benchDelivery,
}

const name = process.argv[2] ?? 'track-events'
const bench = BENCHES[name]
if (bench) await bench()
else {
  process.stderr.write(`There is no bench ${name}; there are ${Object.keys(BENCHES).join(', ')}.\n`)
  process.exitCode = 2
}
