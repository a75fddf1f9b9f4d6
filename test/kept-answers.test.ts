// Answers that are kept: only at exactly their revision, and never more than there is memory for.
import { expect, it } from 'vitest'
import { KeptAnswers } from '../src/operations/statistics/kept-answers.ts'

const MIB = 1024 * 1024

it('gives an answer at the revision it was made at, and at no other', () => {
  const kept = new KeptAnswers()
  kept.keep('question', 7, Buffer.from('answer'))
  expect(kept.find('question', 7)?.toString()).toBe('answer')
  expect(kept.find('question', 6)).toBeUndefined()
  expect(kept.find('question', 8)).toBeUndefined()
  expect(kept.find('another', 7)).toBeUndefined()
})

it('keeps the answer that was given last', () => {
  const kept = new KeptAnswers()
  kept.keep('question', 1, Buffer.from('old'))
  kept.keep('question', 2, Buffer.from('new'))
  expect(kept.find('question', 1)).toBeUndefined()
  expect(kept.find('question', 2)?.toString()).toBe('new')
})

it('keeps 8 MiB, of which goes first what was asked for least recently', () => {
  const kept = new KeptAnswers()
  for (let index = 0; index < 8; index++) kept.keep(`question ${index}`, 1, Buffer.alloc(MIB - 512))
  expect(kept.find('question 0', 1)?.byteLength).toBe(MIB - 512)
  kept.keep('question 8', 1, Buffer.alloc(MIB - 512))
  expect(kept.find('question 0', 1)?.byteLength).toBe(MIB - 512)
  expect(kept.find('question 1', 1)).toBeUndefined()
  expect(kept.find('question 2', 1)?.byteLength).toBe(MIB - 512)
  expect(kept.find('question 8', 1)?.byteLength).toBe(MIB - 512)
})

it('counts half a kibibyte for each, so that those with nothing in them are bounded too', () => {
  const kept = new KeptAnswers()
  const most = (8 * MIB) / 512
  for (let index = 0; index <= most; index++) kept.keep(`question ${index}`, 1, Buffer.alloc(0))
  expect(kept.find('question 0', 1)).toBeUndefined()
  expect(kept.find('question 1', 1)?.byteLength).toBe(0)
})

it('counts an answer that is kept again once', () => {
  const kept = new KeptAnswers()
  kept.keep('other', 1, Buffer.alloc(1))
  for (let revision = 1; revision <= 100; revision++) kept.keep('question', revision, Buffer.alloc(MIB))
  expect(kept.find('other', 1)?.byteLength).toBe(1)
  expect(kept.find('question', 100)?.byteLength).toBe(MIB)
})

it('does not keep an answer of more than a mebibyte, nor one that it replaces', () => {
  const kept = new KeptAnswers()
  kept.keep('question', 1, Buffer.alloc(1))
  kept.keep('question', 2, Buffer.alloc(MIB + 1))
  expect(kept.find('question', 1)).toBeUndefined()
  expect(kept.find('question', 2)).toBeUndefined()
})
