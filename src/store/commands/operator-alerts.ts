import { toIso } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import { columns, text, time, type RowOf } from '../columns.ts';
import { run, writeTransaction } from '../command.ts';
import { eachOf, hasRows, statement, valuesOf } from '../statement.ts';
import type { alertEvents } from './webhook-names.ts';
import { addWebhook } from './webhooks.ts';

const alertFields = {
  alert: text(),
  /** The one of several things that it tells of. */
  subject: text(),
  beganAt: time(),
};
export type OperatorAlert = RowOf<typeof alertFields>;
const alerts = columns(alertFields);

interface Told {
  event: (typeof alertEvents)[number];
  /** For people. Null: the end needs no words. */
  message: string | null;
  url: string;
  now: number;
}

const tell = ({ alert, subject, beganAt }: OperatorAlert, { event, message, url, now }: Told) => {
  const id = newId();
  const body = JSON.stringify({
    event_id: id,
    type: event,
    alert,
    subject,
    message,
    began_at: toIso(beganAt),
    created_at: toIso(now),
  });
  return run(addWebhook, { id, accountId: null, event, jobId: null, url, body, now });
};

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
  text: `delete from operator_alerts where seen_at < $1 returning ${alerts.list()}`,
  values: (seenBefore: number) => [seenBefore],
  read: eachOf(alerts.read),
});

/** Ends what no process has seen since, and adds an event for each. */
export const endAlerts = writeTransaction(function* ({
  seenBefore,
  ...told
}: Pick<Told, 'url' | 'now'> & { seenBefore: number }) {
  for (const ended of yield* run(end, seenBefore))
    yield* tell(ended, { ...told, event: 'alert.ended', message: null });
});
