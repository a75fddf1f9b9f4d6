// Tables. On a narrow screen each row becomes a card, whose cells say their column.
import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Numbers stand to the right. */
  readonly isNumber?: boolean
  /** Names the row: one column of a table, by default the first. */
  readonly isName?: boolean
  /** As narrow as its content. */
  readonly isTight?: boolean
  /** Shown in place of the title, such as a link. */
  readonly head?: ComponentChildren
  /** Says what the column counts: an `Explain` beside its title. */
  readonly explained?: ComponentChildren
  /** What neighbouring columns share, above their titles, such as the days that they count. */
  readonly group?: string
}

interface TableProps<Row> {
  /** What the rows are, for readers of the screen. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string | number
  /** False: a table of numbers stays one on a narrow screen, and scrolls within its frame. */
  readonly hasCards?: boolean
  /** A row that sums up the others. */
  readonly foot?: ComponentChildren
}

export function Table<Row>({ caption, columns, rows, keyOf, hasCards = true, foot }: TableProps<Row>) {
  const named = columns.find(({ isName }) => isName) ?? columns[0]
  return (
    <div
      class="table-frame"
      tabIndex={hasCards ? undefined : 0}
      role={hasCards ? undefined : 'group'}
      aria-label={hasCards ? undefined : caption}
    >
      <table class={hasCards ? 'table cards' : 'table'}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <GroupRow columns={columns} />
          <tr>
            {columns.map(({ title, head, isNumber, isTight, explained }) => (
              <th key={title} scope="col" class={classOf({ isNumber, isTight })}>
                {head ?? title} {explained}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <Cell key={column.title} column={column} row={row} isName={column === named} isOnCard={hasCards} />
              ))}
            </tr>
          ))}
        </tbody>
        {foot && <tfoot>{foot}</tfoot>}
      </table>
    </div>
  )
}

const NOTHING = '\u00a0'

function GroupRow<Row>({ columns }: Pick<TableProps<Row>, 'columns'>) {
  const groups = columns.reduce<{ name: string | undefined; span: number }[]>((found, { group: name }) => {
    const last = found.at(-1)
    if (last && last.name === name) last.span++
    else found.push({ name, span: 1 })
    return found
  }, [])
  if (groups.every(({ name }) => name === undefined)) return null
  return (
    <tr class="groups">
      {groups.map(({ name, span }, index) =>
        name === undefined ? (
          <td key={index} colSpan={span}>
            {NOTHING}
          </td>
        ) : (
          <th key={index} scope="colgroup" colSpan={span}>
            {name}
          </th>
        ),
      )}
    </tr>
  )
}

interface CellProps<Row> {
  readonly column: Column<Row>
  readonly row: Row
  readonly isName: boolean
  /** Whether it says beside its label what its number counts, where rows are cards. */
  readonly isOnCard: boolean
}

function Cell<Row>({ column, row, isName, isOnCard }: CellProps<Row>) {
  const look = classOf(column)
  const content = column.cell(row)
  if (isName) {
    return (
      <th scope="row" class={look}>
        {content}
      </th>
    )
  }
  return (
    <td class={look} data-label={column.title || undefined}>
      <div>{content}</div>
      {isOnCard && column.explained && <span class="on-card">{column.explained}</span>}
    </td>
  )
}

function classOf({
  isNumber,
  isTight,
}: {
  readonly isNumber?: boolean | undefined
  readonly isTight?: boolean | undefined
}) {
  return [isNumber && 'right', isTight && 'tight'].filter(Boolean).join(' ') || undefined
}
