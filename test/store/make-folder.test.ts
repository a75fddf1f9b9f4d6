// Checks that `makeFolder` makes the folder of a store and those above it, even if some of them exist already.
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { makeFolder } from '../../src/store/make-folder.ts'

describe('makeFolder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it.each([['one'], ['two/three/four'], ['five/'], ['six/../seven'], ['eight//nine/']])('makes %s', (path) => {
    makeFolder(join(folder, path))
    makeFolder(join(folder, path))
    expect(existsSync(join(folder, path))).toBe(true)
  })

  it('accepts a link to a folder', () => {
    symlinkSync(folder, join(folder, 'link'))
    makeFolder(join(folder, 'link/below'))
    expect(existsSync(join(folder, 'below'))).toBe(true)
    expect(() => makeFolder(join(folder, 'link'))).not.toThrow()
  })

  it('throws the error of the system where no folder can be made', () => {
    writeFileSync(join(folder, 'file'), '')
    symlinkSync(join(folder, 'nothing'), join(folder, 'dangling'))
    expect(() => makeFolder(join(folder, 'file'))).toThrow('EEXIST')
    expect(() => makeFolder(join(folder, 'file/below'))).toThrow('ENOTDIR')
    expect(() => makeFolder(join(folder, 'dangling'))).toThrow('EEXIST')
    expect(() => makeFolder('/proc/tidings/below')).toThrow('ENOENT')
  })
})
