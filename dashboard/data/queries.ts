// Queries of a screen: what it shows while an answer is on its way, empty, refused or there. Answers are kept for a while, so that going
// back shows them at once, and fetched again when one of their topics changes.
import { QueryClient, QueryObserver, type QueryObserverOptions } from '@tanstack/query-core'
import { createContext } from 'preact'
import { useContext, useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks'
import { ApiError } from './api-error.ts'
import type { Client } from './client.ts'
import type { SessionGate } from './session-gate.ts'
import type { Topic } from './topics.ts'

const KEPT_MS = 5 * 60_000
/** Answers younger than this are shown without asking again, for example by going back. */
const FRESH_MS = 2_000
const TRIES_MAX = 2

export function newQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        gcTime: KEPT_MS,
        staleTime: FRESH_MS,
        // The live document says when something changes.
        refetchOnWindowFocus: false,
        retry: (failures, error) => failures < TRIES_MAX && isPassing(error),
      },
    },
  })
}

/** Whether the same question may succeed a moment later. */
function isPassing(error: Error): boolean {
  return error instanceof ApiError && (error.code === 'unavailable' || error.code === 'unreachable')
}

/** Fetches again what is on the screen and shows one of these topics, and later what is not on it. Waits for the answers. */
export async function invalidateTopics(queries: QueryClient, topics: ReadonlySet<Topic>): Promise<void> {
  await queries.invalidateQueries({
    predicate: ({ meta }) =>
      (meta?.['topics'] as readonly Topic[] | undefined)?.some((topic) => topics.has(topic)) ?? false,
  })
}

/** Fetches again what is on the screen and could not be fetched last. */
export async function refetchFailed(queries: QueryClient): Promise<void> {
  await queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.error !== null })
}

/** What all screens share. */
export interface Data {
  readonly client: Client
  readonly queries: QueryClient
  readonly gate: SessionGate
}

export const DataContext = createContext<Data | undefined>(undefined)

export function useData(): Data {
  const data = useContext(DataContext)
  if (!data) throw new Error('this component is outside of DataContext')
  return data
}

export interface Query<Answer> {
  /** Tells this query from all others, besides the workspace: the address and what is asked. */
  readonly key: readonly unknown[]
  readonly ask: (client: Client, signal: AbortSignal) => Promise<Answer>
  /** When one of these changes, the answer is fetched again. */
  readonly topics?: readonly Topic[]
  /** Whether there is nothing to show. Without it, an answer with an empty list `data`. */
  readonly isEmpty?: (answer: Answer) => boolean
  /** Shows this answer until another one arrives with another key; by default the one before. */
  readonly keepsPrevious?: boolean
  /** False: nothing is asked yet, or any more. */
  readonly isWanted?: boolean
}

/** What a screen shows of a query. `again` asks once more. */
export type ShownQuery<Answer> = { readonly again: () => void } & (
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Error }
  | {
      readonly state: 'empty' | 'filled'
      readonly answer: Answer
      /** Whether it is the answer to another question, until that to this one arrives. */
      readonly isPrevious: boolean
      readonly isFetching: boolean
      /** Why it could not be fetched again. */
      readonly error: Error | null
    }
)

export function useQuery<Answer>(query: Query<Answer>): ShownQuery<Answer> {
  const { client, queries } = useData()
  const options = queries.defaultQueryOptions(toOptions(query, client))
  const [observer] = useState(() => new QueryObserver<Answer>(queries, options))
  const [, redraw] = useReducer((times: number) => times + 1, 0)
  useEffect(() => observer.subscribe(() => redraw(undefined)), [observer])
  useLayoutEffect(() => observer.setOptions(options))
  const { data, error, isFetching, isPlaceholderData: isPrevious } = observer.getOptimisticResult(options)
  const again = () => void observer.refetch()
  if (data !== undefined) {
    const isEmpty = (query.isEmpty ?? hasEmptyList)(data)
    return { state: isEmpty ? 'empty' : 'filled', answer: data, isPrevious, isFetching, error, again }
  }
  return error ? { state: 'failed', error, again } : { state: 'loading', again }
}

/** Fetches a query again, by the beginning of its key, and waits for the answer. */
export function useRefresh(): (...key: readonly unknown[]) => Promise<void> {
  const { client, queries } = useData()
  return (...key) => queries.invalidateQueries({ queryKey: [client.workspace, ...key] })
}

function toOptions<Answer>(
  { key, ask, topics = [], keepsPrevious = true, isWanted = true }: Query<Answer>,
  client: Client,
): QueryObserverOptions<Answer> {
  return {
    queryKey: [client.workspace, ...key],
    queryFn: ({ signal }) => ask(client, signal),
    enabled: isWanted,
    meta: { topics },
    ...(keepsPrevious && { placeholderData: (previous: Answer | undefined) => previous }),
  } as QueryObserverOptions<Answer>
}

function hasEmptyList(answer: unknown): boolean {
  const list = typeof answer === 'object' && answer !== null && 'data' in answer ? answer.data : undefined
  return Array.isArray(list) && list.length === 0
}
