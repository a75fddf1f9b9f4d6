// The words of what every list and number shares.

export const shownText = {
  loading: 'Loading',
  again: 'Try again',
  requestId: (id: string) => `Request id for the operator: ${id}`,
  newest: 'Back to the newest',
  older: 'Older',
  first: 'Back to the first page',
  further: 'Next page',
  copy: 'Copy',
  copied: 'Copied',
  never: 'never',
  explain: (what: string) => `What is ${what}?`,
  download: (what: string) => `Download ${what} as CSV`,
  clear: 'Remove the filters',
  nothingMatches: 'Nothing matches',
}
