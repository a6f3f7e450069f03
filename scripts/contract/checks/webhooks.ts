import { createHmac, timingSafeEqual } from 'node:crypto';
import { expectEqual, expectJson, expectThat } from '../assertions.ts';
import type { Delivery } from '../callback-receiver.ts';
import type { Check } from '../check.ts';
import { Mismatch } from '../outcomes.ts';
import { customData, endOfJob, imageBody, postImage } from '../fixtures.ts';
import {
  envelope,
  exactly,
  expectShape,
  filledText,
  listOf,
  maybe,
  members,
  nothing,
  orNull,
  record,
  text,
  timestamp,
  uuid,
  type JsonRecord,
} from '../shapes.ts';
import type { Suite } from '../suite.ts';

const path = '/v1/images/generations?async=true';
const toleranceSeconds = 300;
const deliveryTimeoutMs = 45_000;

const eventShape = (status: 'done' | 'failed') =>
  members(
    {
      event_id: filledText,
      id: uuid,
      status: exactly(status),
      model: filledText,
      created_at: timestamp,
      finished_at: timestamp,
      custom_data: record,
      data:
        status === 'failed'
          ? exactly([])
          : listOf(members({ url: filledText, revised_prompt: maybe(orNull(text)) }), 1),
      error: status === 'failed' ? envelope : nothing,
    },
    { only: true },
  );

/** Makes a job with a webhook to its own address. Returns the job and the first delivery. */
const callBack = async (
  suite: Suite,
  { name, body, failures = 0 }: { name: string; body: JsonRecord; failures?: number },
): Promise<{ job: JsonRecord; delivery: Delivery; event: JsonRecord }> => {
  const { receiver } = suite;
  if (receiver === null) throw new Mismatch('there is no receiver');
  const url = receiver.address(name, { failures });
  const isCharged = !String(body['prompt']).includes('[sandbox:');
  const request = { body: { ...body, webhook_url: url } };
  const created = await (isCharged ? postImage(suite, path, request) : suite.call(path, request));
  const { id } = expectJson(created, 202);
  const job = await endOfJob(suite, id);
  const delivery = await receiver.delivery(name, 1, deliveryTimeoutMs);
  if (delivery === null) throw new Mismatch(`no webhook arrived within ${deliveryTimeoutMs / 1000} s`);
  return { job, delivery, event: JSON.parse(delivery.body.toString('utf8')) as JsonRecord };
};

const doneCallback = (suite: Suite) =>
  suite.once('callback of a done job', () =>
    callBack(suite, {
      name: 'done',
      body: imageBody(suite, { prompt: 'A quiet harbour.', custom_data: customData, response_format: 'url' }),
    }),
  );

const secretOf = async (suite: Suite): Promise<string> =>
  String(expectJson(await suite.call('/v1/balance'), 200)['webhook_secret']);

const sameText = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

/** The documented receiver: raw body, clock, constant-time digest. Throws Mismatch if it would refuse. */
const verify = (delivery: Delivery, secret: string, brand: string): void => {
  const header = delivery.headers[`x-${brand}-signature`];
  if (typeof header !== 'string') throw new Mismatch(`the header X-${brand}-Signature is missing`);
  const parts = header.split(',').map((part) => part.split('=', 2));
  const at = parts.find(([name]) => name === 't')?.[1] ?? '';
  expectThat(/^\d+$/.test(at), `the signature header is ${header}`);
  expectThat(
    Math.abs(Number(at) - delivery.receivedAt) <= toleranceSeconds,
    `the timestamp ${at} is more than 300 s away`,
  );
  const digest = createHmac('sha256', secret)
    .update(Buffer.concat([Buffer.from(`${at}.`), delivery.body]))
    .digest('hex');
  expectThat(
    parts.some(([name, value]) => name === 'v1' && sameText(value ?? '', digest)),
    'no v1 value is the HMAC-SHA256 of timestamp, period and raw body',
  );
};

const brandOf = ({ settings }: Suite): string => /^sk_(.+)_/.exec(settings.apiKey)?.[1] ?? '';

export const webhookChecks: readonly Check[] = [
  {
    id: 'HOOK-1',
    title: 'a done job with webhook_url sends one webhook, by POST, with the frozen job and event_id',
    needs: ['image', 'webhook'],
    run: async (suite) => {
      const { delivery, event } = await doneCallback(suite);
      expectEqual(delivery.method, 'POST', 'the method');
      expectThat(
        /^application\/json\b/.test(delivery.headers['content-type'] ?? ''),
        `the type is ${delivery.headers['content-type']}`,
      );
      expectShape(event, eventShape('done'), 'the callback');
      expectEqual(event['custom_data'], customData, 'custom_data');
      expectEqual(await suite.receiver?.delivery('done', 2, 3_000), null, 'a second delivery after a 2xx');
    },
  },
  {
    id: 'HOOK-2',
    title: 'a webhook carries t and v1, the HMAC-SHA256 of timestamp, period and raw body',
    needs: ['image', 'webhook'],
    run: async (suite) => {
      const { delivery } = await doneCallback(suite);
      verify(delivery, await secretOf(suite), brandOf(suite));
    },
  },
  {
    id: 'HOOK-3',
    title: 'a webhook also carries the Standard Webhooks headers',
    needs: ['image', 'webhook'],
    run: async (suite) => {
      const { delivery, event } = await doneCallback(suite);
      const secret = Buffer.from((await secretOf(suite)).replace(/^whsec_/, ''), 'base64');
      const header = (name: string): string => String(delivery.headers[name]);
      expectEqual(header('webhook-id'), event['event_id'], 'webhook-id');
      const digest = createHmac('sha256', secret)
        .update(`${header('webhook-id')}.${header('webhook-timestamp')}.${delivery.body.toString('utf8')}`)
        .digest('base64');
      expectThat(
        header('webhook-signature').split(' ').includes(`v1,${digest}`),
        'webhook-signature has no valid v1',
      );
    },
  },
  {
    id: 'HOOK-4',
    title: 'a webhook shows the job as polling shows it',
    needs: ['image', 'webhook'],
    run: async (suite) => {
      const { job, event } = await doneCallback(suite);
      for (const name of ['id', 'status', 'model', 'created_at', 'finished_at', 'custom_data', 'data'])
        expectEqual(event[name], job[name], name);
    },
  },
  {
    id: 'HOOK-5',
    title: 'an unacknowledged webhook is sent again: same event_id, same bytes, new signature',
    needs: ['image', 'webhook', 'sandbox'],
    run: async (suite) => {
      const body = imageBody(suite, { prompt: 'A harbour. [sandbox:fail]' });
      const { delivery: first } = await callBack(suite, { name: 'again', body, failures: 1 });
      const second = await suite.receiver?.delivery('again', 2, deliveryTimeoutMs);
      if (second === null || second === undefined) throw new Mismatch('it was not sent again');
      expectThat(first.body.equals(second.body), 'the bytes differ');
      const secret = await secretOf(suite);
      for (const delivery of [first, second]) verify(delivery, secret, brandOf(suite));
    },
  },
  {
    id: 'HOOK-6',
    title: 'a failed job sends a webhook with its error and without data',
    needs: ['image', 'webhook', 'sandbox'],
    run: async (suite) => {
      const body = imageBody(suite, { prompt: 'A harbour. [sandbox:moderated]' });
      const { job, event } = await callBack(suite, { name: 'failed', body });
      expectShape(event, eventShape('failed'), 'the callback');
      expectEqual(event['error'], job['error'], 'the error');
    },
  },
  {
    id: 'HOOK-7',
    title: 'neither the webhook nor the job contains the prompt or webhook_url',
    needs: ['image', 'webhook'],
    run: async (suite) => {
      const { job, delivery } = await doneCallback(suite);
      for (const text of [delivery.body.toString('utf8'), JSON.stringify(job)]) {
        expectThat(!text.includes('A quiet harbour'), 'the prompt is shown');
        expectThat(!text.includes(suite.receiver?.address('done') ?? ''), 'the address is shown');
      }
    },
  },
];
