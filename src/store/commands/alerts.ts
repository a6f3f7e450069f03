import { toIso } from '../../kit/clock.ts';
import { formatUsd } from '../../kit/money.ts';
import { columns, flag, int64, text, time, type RowOf } from '../columns.ts';
import { readBy, run, write, writeTransaction } from '../command.ts';
import { eachOf, hasRows, statement, valuesOf } from '../statement.ts';
import { tellEvent } from './tell-event.ts';
import type { alertEvents } from './webhook-names.ts';

const balanceFields = {
  accountId: text(),
  /** The account is told when its balance, holds included, is below this. */
  below: int64(),
  url: text(),
};
export type BalanceAlert = RowOf<typeof balanceFields>;
const balanceAlerts = columns(balanceFields);

export const getBalanceAlert = readBy('balance_alerts', 'account_id', balanceAlerts);

/** Sets the alert of an account. It is told of a balance that is low already, unless it was told by the same alert. */
export const setBalanceAlert = write({
  text: `insert into balance_alerts (${balanceAlerts.list()}) values (${balanceAlerts.parameters()})
    on conflict (account_id) do update set below = excluded.below, url = excluded.url,
      told = case when balance_alerts.below = excluded.below and balance_alerts.url = excluded.url
        then balance_alerts.told else 0 end`,
  values: balanceAlerts.values,
});

export const removeBalanceAlert = write({
  text: 'delete from balance_alerts where account_id = $1',
  values: (accountId: string) => [accountId],
});

const changedBalances = columns({ ...balanceFields, balance: int64(), isLow: flag() });

const isLow = 'case when c.balance < a.below then cast(1 as bigint) else 0 end';

/** Lists alerts whose balance has fallen below the limit, or is no longer below, since it was last looked at. */
const listChanged = statement({
  text: `select ${balanceAlerts.list('a.')}, c.balance, ${isLow} as is_low
    from balance_alerts a join accounts c on c.id = a.account_id
    where a.told <> ${isLow} order by a.account_id limit $1`,
  values: (limit: number) => [limit],
  read: eachOf(changedBalances.read),
});

/** False if another process was faster, or the alert is another one now. */
const mark = statement({
  text: `update balance_alerts set told = $2
    where account_id = $1 and told <> $2 and below = $3 and url = $4 returning 1 as marked`,
  values: valuesOf<BalanceAlert & { isLow: boolean }>('accountId', 'isLow', 'below', 'url'),
  read: hasRows,
});

/**
 * Adds an event for each account whose balance has fallen below its limit; the next one comes only after the balance was not
 * below. Nothing of a call waits for it. Looks at `limit` accounts at most, and returns their number.
 */
export const tellLowBalances = writeTransaction(function* ({ now, limit }: { now: number; limit: number }) {
  const changed = yield* run(listChanged, limit);
  for (const { accountId, below, url, balance, isLow } of changed) {
    if (!(yield* run(mark, { accountId, isLow, below, url })) || !isLow) continue;
    const facts = { balance_usd: formatUsd(balance), low_balance_usd: formatUsd(below) };
    yield* tellEvent({ accountId, event: 'balance.low', jobId: null, url, now }, facts);
  }
  return changed.length;
});

const operatorFields = {
  alert: text(),
  /** The one of several things that it tells of. */
  subject: text(),
  beganAt: time(),
};
export type OperatorAlert = RowOf<typeof operatorFields>;
const operatorAlerts = columns(operatorFields);

interface Told {
  event: (typeof alertEvents)[number];
  /** For people. Null: the end needs no words. */
  message: string | null;
  url: string;
  now: number;
}

const tell = ({ alert, subject, beganAt }: OperatorAlert, { message, ...told }: Told) =>
  tellEvent({ ...told, accountId: null, jobId: null }, { alert, subject, message, began_at: toIso(beganAt) });

/** False if it has begun already. */
const begin = statement({
  text: `insert into operator_alerts (alert, subject, began_at, seen_at) values ($1, $2, $3, $3)
    on conflict (alert, subject) do nothing returning 1 as begun`,
  values: valuesOf<OperatorAlert>('alert', 'subject', 'beganAt'),
  read: hasRows,
});

const see = statement({
  text: `update operator_alerts set seen_at = $3 where alert = $1 and subject = $2 and seen_at < $3`,
  values: valuesOf<OperatorAlert>('alert', 'subject', 'beganAt'),
});

/** Notes that something holds that the operator is told of. Adds the event of its beginning once, whoever sees it. */
export const holdAlert = writeTransaction(function* ({
  alert,
  subject,
  ...told
}: Pick<OperatorAlert, 'alert' | 'subject'> & Omit<Told, 'event'>) {
  const held = { alert, subject, beganAt: told.now };
  if (yield* run(begin, held)) yield* tell(held, { ...told, event: 'alert.began' });
  else yield* run(see, held);
});

const end = statement({
  text: `delete from operator_alerts where seen_at < $1 returning ${operatorAlerts.list()}`,
  values: (seenBefore: number) => [seenBefore],
  read: eachOf(operatorAlerts.read),
});

/** Ends what no process has seen since, and adds an event for each. */
export const endAlerts = writeTransaction(function* ({
  seenBefore,
  ...told
}: Pick<Told, 'url' | 'now'> & { seenBefore: number }) {
  for (const ended of yield* run(end, seenBefore))
    yield* tell(ended, { ...told, event: 'alert.ended', message: null });
});
