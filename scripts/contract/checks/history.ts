import { expectEqual, expectError, expectJson, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { asyncImage, completion, endOfJob, failedImage, findInHistory, imageBody } from '../fixtures.ts';
import {
  count,
  envelope,
  exactly,
  expectShape,
  filledText,
  flag,
  listOf,
  members,
  oneOf,
  orNull,
  signedUsd,
  text,
  timestamp,
  usd,
  uuid,
  type JsonRecord,
} from '../shapes.ts';
import type { Suite } from '../suite.ts';
import { toNano } from '../usd.ts';

const jobItem = members(
  {
    id: uuid,
    model: filledText,
    kind: filledText,
    status: oneOf('queued', 'running', 'done', 'failed'),
    created_at: timestamp,
    finished_at: orNull(timestamp),
    duration_ms: orNull(count),
    billing_status: oneOf('pending', 'not_charged', 'charged', 'partially_refunded', 'refunded'),
    charged_usd: usd,
    refunded_usd: usd,
    net_spent_usd: usd,
    currency: exactly('USD'),
    error: orNull(envelope),
  },
  { only: true },
);

const transaction = members(
  {
    id: uuid,
    type: oneOf('topup', 'debit', 'refund', 'adjustment'),
    amount_usd: signedUsd,
    currency: exactly('USD'),
    created_at: timestamp,
    job_id: orNull(uuid),
    model: orNull(text),
  },
  { only: true },
);

const lists = { '/v1/jobs': jobItem, '/v1/transactions': transaction };

interface Page {
  data: JsonRecord[];
  has_more: boolean;
  next_cursor: string | null;
}

const readPage = async (suite: Suite, path: keyof typeof lists, query: string): Promise<Page> => {
  const body = expectJson(await suite.call(`${path}${query}`), 200);
  const page = members(
    { data: listOf(lists[path]), has_more: flag, next_cursor: orNull(filledText) },
    { only: true },
  );
  expectShape(body, page, path);
  return body as unknown as Page;
};

const expectNewestFirst = (items: readonly JsonRecord[]): void => {
  const times = items.map((item) => Date.parse(String(item['created_at'])));
  expectThat(
    times.every((time, index) => index === 0 || time <= (times[index - 1] ?? 0)),
    'an item is newer than the one before it',
  );
};

const walk = async (suite: Suite, path: keyof typeof lists): Promise<void> => {
  const first = await readPage(suite, path, '?limit=2');
  const seen = [...first.data];
  let page = first;
  for (let number = 0; number < 4 && page.next_cursor !== null; number += 1) {
    expectThat(page.has_more, 'there is a next_cursor but has_more is false');
    expectThat(page.data.length === 2, `a page of 2 has ${page.data.length} items and a next one`);
    page = await readPage(suite, path, `?limit=2&cursor=${encodeURIComponent(page.next_cursor)}`);
    seen.push(...page.data);
  }
  expectThat(page.next_cursor !== null || !page.has_more, 'has_more is true without a next_cursor');
  expectNewestFirst(seen);
  const ids = seen.map(({ id }) => id);
  expectThat(new Set(ids).size === ids.length, 'an item came on two pages');
  const whole = (await readPage(suite, path, '?limit=100')).data.map(({ id }) => id);
  const from = whole.indexOf(ids[0]);
  expectEqual(ids.slice(0, whole.length - from), whole.slice(from, from + ids.length), 'the walked pages');
};

const refuseLimits = async (suite: Suite, path: keyof typeof lists): Promise<void> => {
  for (const limit of ['0', '101', '-1', '1.5', 'ten', ''])
    expectError(await suite.call(`${path}?limit=${limit}`), {
      status: 422,
      code: 'invalid_parameter',
      param: 'limit',
    });
  for (const cursor of ['', 'c'.repeat(513)])
    expectError(await suite.call(`${path}?cursor=${cursor}`), { status: 422, param: 'cursor' });
};

/** Maps each list to the other one, to take cursors from. */
const sister = { '/v1/jobs': '/v1/transactions', '/v1/transactions': '/v1/jobs' } as const;

const refuseCursors = async (suite: Suite, path: keyof typeof lists): Promise<void> => {
  const own = (await readPage(suite, path, '?limit=1')).next_cursor;
  const foreign = (await readPage(suite, sister[path], '?limit=1')).next_cursor;
  const flipped = own === null ? null : (own.startsWith('A') ? 'B' : 'A') + own.slice(1);
  for (const cursor of ['nonsense', 'c'.repeat(512), foreign, flipped])
    if (cursor !== null)
      expectError(await suite.call(`${path}?cursor=${encodeURIComponent(cursor)}`), {
        status: 400,
        code: 'invalid_cursor',
        param: 'cursor',
      });
};

export const historyChecks: readonly Check[] = [
  {
    id: 'HIST-1',
    title: 'a page of jobs has the documented members and no others',
    run: async (suite) => {
      expectNewestFirst((await readPage(suite, '/v1/jobs', '')).data);
      expectThat((await readPage(suite, '/v1/jobs', '')).data.length <= 50, 'more than 50 by default');
    },
  },
  {
    id: 'HIST-2',
    title: 'limits outside 1-100 and cursors outside 1-512 characters are 422',
    run: (suite) => refuseLimits(suite, '/v1/jobs'),
  },
  {
    id: 'HIST-3',
    title: 'pages of jobs follow each other, newest first, without gaps or repeats',
    needs: ['image'],
    run: async (suite) => {
      await asyncImage(suite);
      await walk(suite, '/v1/jobs');
    },
  },
  {
    id: 'HIST-4',
    title: 'a cursor that this list did not return is 400 invalid_cursor',
    run: (suite) => refuseCursors(suite, '/v1/jobs'),
  },
  {
    id: 'HIST-5',
    title: 'a done job has the charge that the job itself shows, and its duration',
    needs: ['image'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      const [item] = await findInHistory(suite, '/v1/jobs', ({ id }) => id === job['id']);
      const cost = (job['usage'] as JsonRecord)['cost_usd'];
      expectShape(
        item,
        members({
          kind: exactly('image'),
          status: exactly('done'),
          model: exactly(job['model']),
          billing_status: exactly('charged'),
          charged_usd: exactly(cost),
          refunded_usd: exactly('0.00'),
          net_spent_usd: exactly(cost),
          created_at: exactly(job['created_at']),
          finished_at: exactly(job['finished_at']),
          duration_ms: exactly(
            Date.parse(String(job['finished_at'])) - Date.parse(String(job['created_at'])),
          ),
          error: exactly(null),
        }),
        'the history item',
      );
    },
  },
  {
    id: 'HIST-6',
    title: 'a failed job is not charged and shows its error',
    needs: ['image', 'sandbox'],
    run: async (suite) => {
      const { job } = await failedImage(suite);
      const [item] = await findInHistory(suite, '/v1/jobs', ({ id }) => id === job['id']);
      expectShape(
        item,
        members({
          status: exactly('failed'),
          billing_status: exactly('not_charged'),
          charged_usd: exactly('0.00'),
          net_spent_usd: exactly('0.00'),
          error: exactly(job['error']),
        }),
        'the history item',
      );
    },
  },
  {
    id: 'HIST-7',
    title: 'a pending job has a pending bill, no end and no duration',
    needs: ['image', 'sandbox'],
    run: async (suite) => {
      const created = await suite.call('/v1/images/generations?async=true', {
        body: imageBody(suite, { prompt: '[sandbox:slow=2] [sandbox:fail]' }),
      });
      const { id } = expectJson(created, 202);
      const [item] = await findInHistory(suite, '/v1/jobs', (candidate) => candidate['id'] === id);
      expectShape(
        item,
        members({
          status: oneOf('queued', 'running'),
          billing_status: exactly('pending'),
          finished_at: exactly(null),
          duration_ms: exactly(null),
          charged_usd: exactly('0.00'),
        }),
        'the history item',
      );
      await endOfJob(suite, id);
    },
  },
  {
    id: 'HIST-8',
    title: "another account's jobs and cursors are not visible",
    needs: ['image', 'other_key'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      const key = suite.settings.otherKey;
      const { data } = expectJson(await suite.call('/v1/jobs?limit=100', { key }), 200);
      expectThat(
        !(data as JsonRecord[]).some(({ id }) => id === job['id']),
        'another account lists the job of this one',
      );
      const { next_cursor: cursor } = await readPage(suite, '/v1/jobs', '?limit=1');
      if (cursor !== null)
        expectError(await suite.call(`/v1/jobs?cursor=${encodeURIComponent(cursor)}`, { key }), {
          status: 400,
          code: 'invalid_cursor',
        });
    },
  },
  {
    id: 'HIST-9',
    title: 'a chat is in the history with the kind chat',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await completion(suite);
      const jobId = String(body['id']).replace('chatcmpl-', '');
      const [item] = await findInHistory(suite, '/v1/jobs', ({ id }) => id === jobId);
      expectShape(
        item,
        members({ kind: exactly('chat'), model: exactly(body['model']) }),
        'the history item',
      );
    },
  },
  {
    id: 'TXN-1',
    title: 'a page of transactions has the documented members and no others',
    run: async (suite) => {
      const { data } = await readPage(suite, '/v1/transactions', '');
      expectThat(data.length <= 50, 'more than 50 by default');
      expectNewestFirst(data);
    },
  },
  {
    id: 'TXN-2',
    title: 'limits outside 1-100 and cursors outside 1-512 characters are 422',
    run: (suite) => refuseLimits(suite, '/v1/transactions'),
  },
  {
    id: 'TXN-3',
    title: 'pages of transactions follow each other without gaps or repeats',
    needs: ['image'],
    run: async (suite) => {
      await asyncImage(suite);
      await walk(suite, '/v1/transactions');
    },
  },
  {
    id: 'TXN-4',
    title: 'a cursor that this list did not return is 400 invalid_cursor',
    run: (suite) => refuseCursors(suite, '/v1/transactions'),
  },
  {
    id: 'TXN-5',
    title: 'a done job has one negative debit of its price, with job_id and SKU',
    needs: ['image'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      const found = await findInHistory(
        suite,
        '/v1/transactions',
        ({ job_id: jobId }) => jobId === job['id'],
      );
      expectEqual(found.length, 1, 'the number of transactions of the job');
      const cost = String((job['usage'] as JsonRecord)['cost_usd']);
      expectShape(
        found[0],
        members({
          type: exactly('debit'),
          amount_usd: exactly(`-${cost}`),
          model: exactly(job['model']),
        }),
        'the debit',
      );
    },
  },
  {
    id: 'TXN-6',
    title: 'credits are positive, debits negative, and nothing is zero',
    run: async (suite) => {
      const { data } = await readPage(suite, '/v1/transactions', '?limit=100');
      for (const { type, amount_usd: amount } of data) {
        const nano = toNano(amount);
        expectThat(nano !== 0n, 'a transaction of zero is shown');
        if (type === 'debit') expectThat(nano < 0n, `a debit of ${String(amount)}`);
        if (type === 'topup' || type === 'refund') expectThat(nano > 0n, `a ${type} of ${String(amount)}`);
      }
    },
  },
  {
    id: 'TXN-7',
    title: 'a failed job has no transaction',
    needs: ['image', 'sandbox'],
    run: async (suite) => {
      const { job } = await failedImage(suite);
      const found = await findInHistory(
        suite,
        '/v1/transactions',
        ({ job_id: jobId }) => jobId === job['id'],
      );
      expectEqual(found, [], 'the transactions of a failed job');
    },
  },
];
