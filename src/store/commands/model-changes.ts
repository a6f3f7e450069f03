import type { JsonObject } from '../../kit/json.ts';
import { columns, flag, integer, json, orNull, text, time, type RowOf } from '../columns.ts';
import { read, run, writeTransaction, type Steps } from '../command.ts';
import { eachOf, hasRows, statement, valuesOf } from '../statement.ts';

/** A SKU as it is sold: its price in the form of causeway.yaml. */
export interface SoldAs {
  on: boolean;
  price: JsonObject;
}

const changeFields = {
  sku: text(),
  /** Counts the changes of a SKU from 1. */
  version: integer(),
  at: time(),
  /** When the next change took its place. */
  until: time(),
  /** The price in place of that of the settings; null: that of the settings. */
  price: orNull(json<JsonObject>()),
  isOff: flag(),
  before: json<SoldAs>(),
  after: json<SoldAs>(),
};
/** What an operator changed of a SKU while the gateway ran. */
export type ModelChange = RowOf<typeof changeFields>;
/** `changedBy`: the actor in the audit log. */
export type ModelChangeRow = ModelChange & { changedBy: string };
const changes = columns(changeFields);

const selectChanges = `select ${changes.list('c.')}, a.actor as changed_by from model_changes c
  join audit_log a on a.id = c.changed_in`;

const readRow = (row: Record<string, never>): ModelChangeRow => ({
  ...changes.read(row),
  changedBy: row['changed_by'] ?? '',
});

/** Lists the changes that hold now, or held after a time, those that hold now last. */
export const listModelChanges = read({
  text: `${selectChanges} where c.until > $1 order by c.until, c.sku`,
  values: (since: number) => [since],
  read: eachOf(readRow),
});

/** Lists the changes of a SKU, the newest first. `before`: those before this version. */
export const listModelHistory = read({
  text: `${selectChanges} where c.sku = $1 and c.version < $2 order by c.version desc limit $3`,
  values: ({ sku, before, limit }: { sku: string; before: number | null; limit: number }) => [
    sku,
    before ?? Number.MAX_SAFE_INTEGER,
    limit,
  ],
  read: eachOf(readRow),
});

export interface NewModelChange extends Pick<
  ModelChange,
  'sku' | 'version' | 'price' | 'isOff' | 'before' | 'after'
> {
  now: number;
  /** The row of the audit log. */
  callId: string;
}

const insertChange = statement({
  text: `insert into model_changes (sku, version, at, until, price, is_off, before, after, changed_in)
    values ($1, $2, $3, ${Number.MAX_SAFE_INTEGER}, $4, $5, $6, $7, $8)
    on conflict do nothing returning 1 as inserted`,
  values: ({ sku, version, now, price, isOff, before, after, callId }: NewModelChange) => [
    sku,
    version,
    now,
    price === null ? null : JSON.stringify(price),
    isOff ? 1n : 0n,
    JSON.stringify(before),
    JSON.stringify(after),
    callId,
  ],
  read: hasRows,
});

const endFormer = statement({
  text: 'update model_changes set until = $3 where sku = $1 and version = $2 - 1',
  values: valuesOf<NewModelChange>('sku', 'version', 'now'),
});

/** Changes a SKU. False, and nothing is changed: another change has this version. */
export const changeModel = writeTransaction(function* (input: NewModelChange): Steps<boolean> {
  const isInserted = yield* run(insertChange, input);
  if (isInserted) yield* run(endFormer, input);
  return isInserted;
});
