// Run as a process of its own: counts the large users who are waiting in the store of DATA_DIR or DATABASE_URL, and ends.
import { Recounter } from '../../../src/pipeline/recounts/recounter.ts'
import { openDatabase } from '../../../src/store/open-database.ts'

const { DATA_DIR: dataDir = '', DATABASE_URL: databaseUrl } = process.env
const database = openDatabase({ dataDir, databaseUrl }, { durable: false })
const recounter = new Recounter({
  database,
  clock: Date.now,
  onFailure: (error) => {
    throw error
  },
})
while (await recounter.step());
await database.close()
