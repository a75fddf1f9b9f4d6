// Answers that are kept: only at exactly their revision, and never more than there is memory for.
import { expect, it } from 'vitest'
import { ResponseCache } from '../../../src/operations/statistics/response-cache.ts'

const MIB = 1024 * 1024

it('gives an answer at the revision it was made at, and at no other', () => {
  const cache = new ResponseCache()
  cache.keep('question', 7, Buffer.from('answer'))
  expect(cache.find('question', 7)?.toString()).toBe('answer')
  expect(cache.find('question', 6)).toBeUndefined()
  expect(cache.find('question', 8)).toBeUndefined()
  expect(cache.find('another', 7)).toBeUndefined()
})

it('keeps the answer that was given last', () => {
  const cache = new ResponseCache()
  cache.keep('question', 1, Buffer.from('old'))
  cache.keep('question', 2, Buffer.from('new'))
  expect(cache.find('question', 1)).toBeUndefined()
  expect(cache.find('question', 2)?.toString()).toBe('new')
})

it('keeps 8 MiB, of which goes first what was asked for least recently', () => {
  const cache = new ResponseCache()
  for (let index = 0; index < 8; index++) cache.keep(`question ${index}`, 1, Buffer.alloc(MIB - 512))
  expect(cache.find('question 0', 1)?.byteLength).toBe(MIB - 512)
  cache.keep('question 8', 1, Buffer.alloc(MIB - 512))
  expect(cache.find('question 0', 1)?.byteLength).toBe(MIB - 512)
  expect(cache.find('question 1', 1)).toBeUndefined()
  expect(cache.find('question 2', 1)?.byteLength).toBe(MIB - 512)
  expect(cache.find('question 8', 1)?.byteLength).toBe(MIB - 512)
})

it('counts half a kibibyte for each, so that those with nothing in them are bounded too', () => {
  const cache = new ResponseCache()
  const most = (8 * MIB) / 512
  for (let index = 0; index <= most; index++) cache.keep(`question ${index}`, 1, Buffer.alloc(0))
  expect(cache.find('question 0', 1)).toBeUndefined()
  expect(cache.find('question 1', 1)?.byteLength).toBe(0)
})

it('counts an answer that is kept again once', () => {
  const cache = new ResponseCache()
  cache.keep('other', 1, Buffer.alloc(1))
  for (let revision = 1; revision <= 100; revision++) cache.keep('question', revision, Buffer.alloc(MIB))
  expect(cache.find('other', 1)?.byteLength).toBe(1)
  expect(cache.find('question', 100)?.byteLength).toBe(MIB)
})

it('does not keep an answer of more than a mebibyte, nor one that it replaces', () => {
  const cache = new ResponseCache()
  cache.keep('question', 1, Buffer.alloc(1))
  cache.keep('question', 2, Buffer.alloc(MIB + 1))
  expect(cache.find('question', 1)).toBeUndefined()
  expect(cache.find('question', 2)).toBeUndefined()
})
