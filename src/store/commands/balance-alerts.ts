import { toIso } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import { formatUsd } from '../../kit/money.ts';
import { columns, flag, int64, text, type RowOf } from '../columns.ts';
import { readBy, run, write, writeTransaction } from '../command.ts';
import { eachOf, hasRows, statement, valuesOf } from '../statement.ts';
import { addWebhook } from './webhooks.ts';

const alertFields = {
  accountId: text(),
  /** The account is told when its balance, holds included, is below this. */
  below: int64(),
  url: text(),
};
export type BalanceAlert = RowOf<typeof alertFields>;
const alerts = columns(alertFields);

export const getBalanceAlert = readBy('balance_alerts', 'account_id', alerts);

/** Sets the alert of an account. It is told of a balance that is low already, unless it was told by the same alert. */
export const setBalanceAlert = write({
  text: `insert into balance_alerts (${alerts.list()}) values (${alerts.parameters()})
    on conflict (account_id) do update set below = excluded.below, url = excluded.url,
      told = case when balance_alerts.below = excluded.below and balance_alerts.url = excluded.url
        then balance_alerts.told else 0 end`,
  values: alerts.values,
});

export const removeBalanceAlert = write({
  text: 'delete from balance_alerts where account_id = $1',
  values: (accountId: string) => [accountId],
});

const changedAlerts = columns({ ...alertFields, balance: int64(), isLow: flag() });

const isLow = 'case when c.balance < a.below then cast(1 as bigint) else 0 end';

/** Lists alerts whose balance has fallen below the limit, or is no longer below, since it was last looked at. */
const listChanged = statement({
  text: `select ${alerts.list('a.')}, c.balance, ${isLow} as is_low
    from balance_alerts a join accounts c on c.id = a.account_id
    where a.told <> ${isLow} order by a.account_id limit $1`,
  values: (limit: number) => [limit],
  read: eachOf(changedAlerts.read),
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
    const id = newId();
    const body = JSON.stringify({
      event_id: id,
      type: 'balance.low',
      balance_usd: formatUsd(balance),
      low_balance_usd: formatUsd(below),
      created_at: toIso(now),
    });
    yield* run(addWebhook, { id, accountId, event: 'balance.low', jobId: null, url, body, now });
  }
  return changed.length;
});
