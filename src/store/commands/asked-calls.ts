import { columns, int64, orNull, text, time, type RowOf } from '../columns.ts';
import { read, run, sweepExpired, write, writeTransaction, type Steps } from '../command.ts';
import { firstOf, hasRows, onlyOf, statement, valuesOf } from '../statement.ts';

const fields = {
  /** It is in the address of a page. It never has another call or price. */
  id: text(),
  accountId: text(),
  /** The key or connection that called. */
  keyId: text(),
  /** Names the operation and its input. */
  callHash: text(),
  operation: text(),
  /** Null: not known when the call was refused. */
  model: orNull(text()),
  /** The most that the call may cost. */
  most: int64(),
  /** Null: the person has not answered. */
  answer: orNull(text<'confirmed' | 'declined'>()),
  expiresAt: time(),
};
const askedCalls = columns(fields);
/** A call that was refused until a person lets it through. */
export type AskedCall = RowOf<typeof fields>;

export interface NewAskedCall extends Omit<AskedCall, 'answer'> {
  now: number;
  /** The most asked calls of the key. Those that no person confirmed, and then the oldest, give way to a new one. */
  maxOfKey: number;
}

/** An earlier question for the same call is over when it has expired or was about a lower price. */
const isOver = '(asked_calls.expires_at <= $10 or asked_calls.most < excluded.most)';

const upsert = statement({
  text: `insert into asked_calls (${askedCalls.list()}) values (${askedCalls.parameters()})
    on conflict (key_id, call_hash) do update set
      id = case when ${isOver} then excluded.id else asked_calls.id end,
      model = case when ${isOver} then excluded.model else asked_calls.model end,
      most = case when ${isOver} then excluded.most else asked_calls.most end,
      answer = case when ${isOver} then null else asked_calls.answer end,
      expires_at = case when ${isOver} or asked_calls.answer is null then excluded.expires_at
        else asked_calls.expires_at end
    returning ${askedCalls.list()}`,
  values: ({ now, ...asked }: NewAskedCall) => [...askedCalls.values({ ...asked, answer: null }), now],
  read: onlyOf(askedCalls.read),
});

const evict = statement({
  text: ({ lockFreeRows }) => `delete from asked_calls where id in (
      select id from asked_calls where key_id = $1 and id <> $2
      order by case when answer = 'confirmed' then 0 else 1 end, expires_at desc, id
      limit 1000 offset $3 ${lockFreeRows}
    )`,
  values: ({ keyId, id, maxOfKey }: Pick<NewAskedCall, 'keyId' | 'id' | 'maxOfKey'>) => [
    keyId,
    id,
    maxOfKey - 1,
  ],
});

/** Keeps the question for a call. Returns the one that a person is asked: this, or an earlier one of the same call. */
export const askForCall = writeTransaction(function* (asked: NewAskedCall): Steps<AskedCall> {
  const kept = yield* run(upsert, asked);
  yield* run(evict, { ...asked, id: kept.id });
  return kept;
});

/** Null if there is none, or it has expired. */
export const getAskedCall = read({
  text: `select ${askedCalls.list()} from asked_calls where id = $1 and expires_at > $2`,
  values: valuesOf<{ id: string; now: number }>('id', 'now'),
  read: firstOf(askedCalls.read),
});

/** Keeps the answer of a person until `expiresAt`. False if there is an answer, or the question has expired. */
export const answerAskedCall = write({
  text: `update asked_calls set answer = $2, expires_at = $3
    where id = $1 and answer is null and expires_at > $4 returning 1 as answered`,
  values: valuesOf<{ id: string; answer: 'confirmed' | 'declined'; expiresAt: number; now: number }>(
    'id',
    'answer',
    'expiresAt',
    'now',
  ),
  read: hasRows,
});

export const sweepAskedCalls = sweepExpired('asked_calls', 'id');
