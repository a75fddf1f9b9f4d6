// Whatever becomes of a test, nothing that it started outlives its file.
import type { ChildProcess } from 'node:child_process'

const children = new Set<ChildProcess>()
process.once('exit', endChildren)

export function endWithTests(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

export function endChildren(): void {
  for (const child of children) child.kill('SIGKILL')
}
