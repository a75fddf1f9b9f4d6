// Run with every test file: the files follow each other in one process, and what one leaves behind must not reach the next.
import { afterAll, vi } from 'vitest'
import { endChildren } from '../end-with-tests.ts'

afterAll(() => {
  vi.useRealTimers()
  endChildren()
})
