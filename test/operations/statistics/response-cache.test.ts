// The response cache: it returns responses only at their own revision, and stays within its memory.
import { expect, it } from 'vitest'
import { ResponseCache } from '../../../src/operations/statistics/response-cache.ts'

const MIB = 1024 * 1024

it('the cache returns a response at its own revision, and at no other', () => {
  const cache = new ResponseCache()
  cache.set('question', 7, Buffer.from('answer'))
  expect(cache.find('question', 7)?.toString()).toBe('answer')
  expect(cache.find('question', 6)).toBeUndefined()
  expect(cache.find('question', 8)).toBeUndefined()
  expect(cache.find('another', 7)).toBeUndefined()
})

it('the cache returns the response that was set last', () => {
  const cache = new ResponseCache()
  cache.set('question', 1, Buffer.from('old'))
  cache.set('question', 2, Buffer.from('new'))
  expect(cache.find('question', 1)).toBeUndefined()
  expect(cache.find('question', 2)?.toString()).toBe('new')
})

it('the cache holds 8 MiB, and evicts the least recently used response', () => {
  const cache = new ResponseCache()
  for (let index = 0; index < 8; index++) cache.set(`question ${index}`, 1, Buffer.alloc(MIB - 512))
  expect(cache.find('question 0', 1)?.byteLength).toBe(MIB - 512)
  cache.set('question 8', 1, Buffer.alloc(MIB - 512))
  expect(cache.find('question 0', 1)?.byteLength).toBe(MIB - 512)
  expect(cache.find('question 1', 1)).toBeUndefined()
  expect(cache.find('question 2', 1)?.byteLength).toBe(MIB - 512)
  expect(cache.find('question 8', 1)?.byteLength).toBe(MIB - 512)
})

it('the cache adds 512 bytes for each response, so that empty ones are limited too', () => {
  const cache = new ResponseCache()
  const most = (8 * MIB) / 512
  for (let index = 0; index <= most; index++) cache.set(`question ${index}`, 1, Buffer.alloc(0))
  expect(cache.find('question 0', 1)).toBeUndefined()
  expect(cache.find('question 1', 1)?.byteLength).toBe(0)
})

it('the cache counts a response that is set again once', () => {
  const cache = new ResponseCache()
  cache.set('other', 1, Buffer.alloc(1))
  for (let revision = 1; revision <= 100; revision++) cache.set('question', revision, Buffer.alloc(MIB))
  expect(cache.find('other', 1)?.byteLength).toBe(1)
  expect(cache.find('question', 100)?.byteLength).toBe(MIB)
})

it('the cache refuses a response over 1 MiB, and drops the one that it replaces', () => {
  const cache = new ResponseCache()
  cache.set('question', 1, Buffer.alloc(1))
  cache.set('question', 2, Buffer.alloc(MIB + 1))
  expect(cache.find('question', 1)).toBeUndefined()
  expect(cache.find('question', 2)).toBeUndefined()
})
