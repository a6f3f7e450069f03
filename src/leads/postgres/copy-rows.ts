import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { LeadsClient } from './leads-database.ts';

/** The values of a row in PostgreSQL's binary form, in the order of the columns; null is NULL. */
export type BinaryRow = readonly (Buffer | null)[];

/** Put together to pieces of this size before they are sent. */
const pieceBytes = 256 * 1024;
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const trailer = int2(-1);

export interface CopyInput {
  table: string;
  columns: readonly string[];
  rows: Iterable<BinaryRow>;
  /** For a table made in the same transaction: its rows need no vacuum later. */
  isNewTable?: boolean;
}

/** Copies rows into a table; one statement, over in the transaction of `client`. Several times quicker than INSERT. */
export const copyRows = async (
  client: LeadsClient,
  { table, columns, rows, isNewTable = false }: CopyInput,
): Promise<void> => {
  const options = `format binary, freeze ${isNewTable}`;
  const sink = client.query(copyFrom(`copy ${table} (${columns.join(', ')}) from stdin (${options})`));
  await pipeline(Readable.from(pieces(rows), { objectMode: true, highWaterMark: 2 }), sink);
};

function* pieces(rows: Iterable<BinaryRow>): Generator<Buffer> {
  let parts: Buffer[] = [header];
  let bytes = header.length;
  for (const row of rows) {
    const head = int2(row.length);
    parts.push(head);
    bytes += head.length;
    for (const value of row) {
      const length = int4(value === null ? -1 : value.length);
      parts.push(length);
      if (value !== null) parts.push(value);
      bytes += length.length + (value?.length ?? 0);
    }
    if (bytes < pieceBytes) continue;
    yield Buffer.concat(parts, bytes);
    parts = [];
    bytes = 0;
  }
  yield Buffer.concat([...parts, trailer]);
}

function int2(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export const int4 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
};

export const int8 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
};

export const float8 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeDoubleBE(value);
  return bytes;
};

export const text = (value: string): Buffer => Buffer.from(value);
