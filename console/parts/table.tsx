import type { ComponentChildren } from 'preact';
import { toQuery } from '../api.ts';
import { usePlace } from '../router.tsx';
import { useLoad } from '../use-console.ts';
import { Shown } from './parts.tsx';

export interface Column<Row> {
  title: string;
  cell(row: Row): ComponentChildren;
  /** Left out on a narrow page; the page of the row has it. */
  isWide?: boolean;
  isNumber?: boolean;
}

interface TableProps<Row> {
  /** Names the table for those who do not see it. */
  name: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf(row: Row): string;
  none: string;
}

const classOf = <Row,>({ isWide, isNumber }: Column<Row>): string | undefined =>
  [isWide === true ? 'wide' : '', isNumber === true ? 'number' : ''].join(' ').trim() || undefined;

export const Table = <Row,>({ name, rows, columns, keyOf, none }: TableProps<Row>) =>
  rows.length === 0 ? (
    <p class="none">{none}</p>
  ) : (
    <div class="scroll">
      <table aria-label={name}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );

type PageAnswer<Row> = Readonly<Record<string, unknown>> & { has_more: boolean; rows?: readonly Row[] };

interface PagedProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  /** The address of the list below /console, without a query. */
  path: string;
  /** The member of an answer that has the rows. */
  member: string;
  /** Fields of the query beside that of the page. */
  filters?: Readonly<Record<string, string | null>>;
  /** The field of the query that leads to the next page. */
  pageField?: string;
  /** Its value; default: the key of the last row. */
  next?(answer: Readonly<Record<string, unknown>>): unknown;
  /** What to say where this gateway does not offer the list. */
  missing?: string;
  /** Another one reads the list again. */
  version?: number;
}

const everyMs = 15_000;
const pageRows = 50;

/** A list of the gateway, page by page. The address has the page; the first one is read again while it is visible. */
export const PagedTable = <Row,>({
  path,
  member,
  filters = {},
  pageField = 'after',
  ...props
}: PagedProps<Row>) => {
  const { query, setQuery } = usePlace();
  const page = query.get('page');
  const { keyOf, next, missing, version, ...table } = props;
  const given = toQuery({ ...filters, limit: pageRows, [pageField]: page });
  const loaded = useLoad<PageAnswer<Row>>(path + given, { everyMs: page === null ? everyMs : null, version });
  return (
    <Shown loaded={loaded} missing={missing}>
      {(answer) => {
        const rows = answer[member] as readonly Row[];
        const last = rows.at(-1);
        const nextPage = next === undefined ? last && keyOf(last) : next(answer);
        return (
          <>
            <Table
              {...table}
              keyOf={keyOf}
              rows={rows}
              none={answer.has_more ? 'None among these. Look at older ones.' : table.none}
            />
            {(page !== null || answer.has_more) && (
              <nav class="pager" aria-label="Pages">
                <button type="button" disabled={page === null} onClick={() => setQuery({ page: null })}>
                  Newest
                </button>
                <button
                  type="button"
                  disabled={!answer.has_more || typeof nextPage !== 'string'}
                  onClick={() => setQuery({ page: String(nextPage) })}
                >
                  Older
                </button>
              </nav>
            )}
          </>
        );
      }}
    </Shown>
  );
};

/** A list of the interface of customers: all of its lists have pages of the same form. */
export const CustomerTable = <Row,>(props: Omit<PagedProps<Row>, 'member' | 'pageField' | 'next'>) => (
  <PagedTable<Row> {...props} member="data" pageField="cursor" next={({ next_cursor: next }) => next} />
);
