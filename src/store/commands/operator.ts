import { parseJson, type JsonObject } from '../../kit/json.ts';
import { columns, orNull, text, time, type RowOf } from '../columns.ts';
import { read, readBy, readSteps, run, write } from '../command.ts';
import { eachOf, firstOf, onlyOf, statement, valuesOf } from '../statement.ts';

/** `read` looks at everything; `write` changes it, too. */
export type OperatorRole = 'read' | 'write';

const keyFields = {
  id: text(),
  /** First and last characters, for people. */
  display: text(),
  label: text(),
  role: text<OperatorRole>(),
  createdAt: time(),
  expiresAt: orNull(time()),
  revokedAt: orNull(time()),
};
export type OperatorKey = RowOf<typeof keyFields>;
const keys = columns(keyFields);
const newKeys = columns({ ...keyFields, hash: text() });

export interface NewOperatorKey extends Pick<OperatorKey, 'id' | 'display' | 'label' | 'role' | 'expiresAt'> {
  /** SHA-256 of the key; the key itself is never stored. */
  hash: string;
  now: number;
}

export const createOperatorKey = write({
  text: `insert into operator_keys (${newKeys.list()}) values (${newKeys.parameters()}) returning ${keys.list()}`,
  values: ({ now, ...key }: NewOperatorKey) => newKeys.values({ ...key, createdAt: now, revokedAt: null }),
  read: onlyOf(keys.read),
});

export const findOperatorKey = readBy('operator_keys', 'hash', keys);

export const listOperatorKeys = read({
  text: `select ${keys.list()} from operator_keys order by created_at, id`,
  read: eachOf(keys.read),
});

/** Null if there is no such key. Revoking again keeps the first time. */
export const revokeOperatorKey = write({
  text: `update operator_keys set revoked_at = coalesce(revoked_at, $2) where id = $1 returning ${keys.list()}`,
  values: valuesOf<{ id: string; now: number }>('id', 'now'),
  read: firstOf(keys.read),
});

const auditFields = {
  id: text(),
  at: time(),
  /** `key:<id>` for an operator key, `cli:<user>` for the command line. */
  actor: text(),
  actorLabel: orNull(text()),
  operation: text(),
  // A spoilt row must not hide the others.
  input: { read: (value: string) => (parseJson(value) as JsonObject | undefined) ?? { unreadable: value } },
  requestId: orNull(text()),
  /** Null: it began, and its end is unknown. */
  outcome: orNull(text<'done' | 'failed'>()),
  error: orNull(text()),
  finishedAt: orNull(time()),
};
export type AuditRow = RowOf<typeof auditFields>;
const audit = columns(auditFields);

export interface NewAuditRow extends Omit<AuditRow, 'input' | 'outcome' | 'error' | 'finishedAt'> {
  input: string;
}

export const startAudit = write({
  text: `insert into audit_log (id, at, actor, actor_label, operation, input, request_id)
    values ($1, $2, $3, $4, $5, $6, $7)`,
  values: valuesOf<NewAuditRow>('id', 'at', 'actor', 'actorLabel', 'operation', 'input', 'requestId'),
});

export const finishAudit = write({
  text: `update audit_log set outcome = $2, error = $3, finished_at = $4 where id = $1 and outcome is null`,
  values: ({ id, error, now }: { id: string; error: string | null; now: number }) => [
    id,
    error === null ? 'done' : 'failed',
    error,
    now,
  ],
});

export const getAudit = readBy('audit_log', 'id', audit);

export interface AuditFilter {
  limit: number;
  /** The page after this row. */
  afterId?: string | undefined;
  actor?: string | undefined;
  operation?: string | undefined;
  /** Epoch milliseconds, inclusive. */
  since?: number | undefined;
}

/** Names the columns that must have given values, so that an index finds the rows. */
const listAuditBy = (...filters: ('actor' | 'operation')[]) =>
  statement({
    text: `select ${audit.list()} from audit_log
      where at >= $2 and ${filters.map((name, index) => `${name} = $${index + 4} and `).join('')}
        (cast($3 as text) is null or (at, id) < (select at, id from audit_log where id = $3))
      order by at desc, id desc limit $1`,
    values: ({ limit, since, afterId, ...filter }: AuditFilter) => [
      limit,
      since ?? 0,
      afterId ?? null,
      ...filters.map((name) => filter[name] ?? ''),
    ],
    read: eachOf(audit.read),
  });

const auditLists = {
  all: listAuditBy(),
  actor: listAuditBy('actor'),
  operation: listAuditBy('operation'),
  both: listAuditBy('actor', 'operation'),
};

export const listAudit = readSteps((filter: AuditFilter) => {
  const { actor, operation } = filter;
  if (actor !== undefined) return run(operation === undefined ? auditLists.actor : auditLists.both, filter);
  return run(operation === undefined ? auditLists.all : auditLists.operation, filter);
});
