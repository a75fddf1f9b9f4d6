// A value that follows another once that has rested for a moment, such as what somebody types.
import { useEffect, useState } from 'preact/hooks'
import { parseJsonText } from '../../src/core/json/parse-json.ts'

const RESTED_MS = 500

/** `value` must be JSON: it is compared as its text, and changes only with that. `restedMs`: the moment. */
export function useRested<Value>(value: Value, restedMs = RESTED_MS): Value {
  const text = JSON.stringify(value)
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), restedMs)
    return () => clearTimeout(timer)
  }, [text, restedMs])
  return text === undefined || rested === undefined ? value : (parseJsonText(rested) as Value)
}
