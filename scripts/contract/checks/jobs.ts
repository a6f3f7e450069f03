import { expectEqual, expectError, expectJson, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { asyncImage, completion, failedImage, noUuid } from '../fixtures.ts';
import {
  envelope,
  exactly,
  expectShape,
  filledText,
  listOf,
  maybe,
  members,
  oneOf,
  orNull,
  record,
  text,
  timestamp,
  usd,
  uuid,
  type JsonRecord,
} from '../shapes.ts';

const jobShape = members({
  id: uuid,
  status: oneOf('queued', 'running', 'done', 'failed'),
  model: filledText,
  created_at: timestamp,
  finished_at: orNull(timestamp),
  custom_data: record,
  data: listOf(members({ url: filledText, revised_prompt: maybe(orNull(text)) })),
  error: maybe(orNull(envelope)),
  usage: maybe(members({ cost_usd: maybe(usd), balance_remaining_usd: maybe(usd) })),
});

const withoutUsage = ({ usage: _usage, ...rest }: JsonRecord): JsonRecord => rest;
const rank = { queued: 0, running: 1, done: 2, failed: 2 } as Record<string, number>;

export const jobChecks: readonly Check[] = [
  {
    id: 'JOB-1',
    title: 'a job has the documented fields',
    needs: ['image'],
    run: async (suite) => expectShape((await asyncImage(suite)).job, jobShape, 'the job'),
  },
  {
    id: 'JOB-2',
    title: 'while a job is pending it has no data, no error and no end',
    needs: ['image'],
    run: async (suite) => {
      const { created, states } = await asyncImage(suite);
      for (const state of [expectJson(created, 202), ...states]) {
        expectShape(state, jobShape, 'the job');
        if (state['status'] === 'queued' || state['status'] === 'running')
          expectShape(
            state,
            members({ data: exactly([]), error: maybe(exactly(null)), finished_at: exactly(null) }),
            'the pending job',
          );
      }
    },
  },
  {
    id: 'JOB-3',
    title: 'states only go forward',
    needs: ['image'],
    run: async (suite) => {
      const { created, states } = await asyncImage(suite);
      const ranks = [expectJson(created, 202), ...states].map(({ status }) => rank[String(status)] ?? -1);
      expectEqual(
        ranks,
        ranks.toSorted((a, b) => a - b),
        'the states',
      );
    },
  },
  {
    id: 'JOB-4',
    title: 'a done job has data, an end and its cost',
    needs: ['image'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      expectThat((job['data'] as unknown[]).length > 0, 'data is empty');
      expectThat(
        Date.parse(String(job['finished_at'])) >= Date.parse(String(job['created_at'])),
        'it ended before it began',
      );
      expectShape(job['usage'], members({ cost_usd: usd, balance_remaining_usd: usd }), 'usage');
      expectEqual(
        (job['usage'] as JsonRecord)['cost_usd'],
        suite.image?.pricing['price_usd'],
        'the cost of a call',
      );
    },
  },
  {
    id: 'JOB-5',
    title: 'a terminal state never changes',
    needs: ['image'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      const again = expectJson(await suite.call(`/v1/jobs/${String(job['id'])}`), 200);
      expectEqual(withoutUsage(again), withoutUsage(job), 'the job read again');
    },
  },
  {
    id: 'JOB-6',
    title: 'a failed job has an error, an end, no data and no cost',
    needs: ['image', 'sandbox'],
    run: async (suite) => {
      const { job } = await failedImage(suite);
      expectShape(
        job,
        members({
          status: exactly('failed'),
          data: exactly([]),
          error: envelope,
          finished_at: timestamp,
          usage: members({ cost_usd: exactly('0.00') }),
        }),
        'the failed job',
      );
    },
  },
  {
    id: 'JOB-7',
    title: 'a chat job can be read by its completion id without the prefix, and contains the completion',
    needs: ['chat'],
    run: async (suite) => {
      const { body } = await completion(suite);
      const id = String(body['id']).replace('chatcmpl-', '');
      const job = expectJson(await suite.call(`/v1/jobs/${id}`), 200);
      expectShape(job, jobShape, 'the chat job');
      expectEqual(job['response'], body, 'the response of the chat job');
      expectEqual(job['status'], 'done', 'its status');
    },
  },
  {
    id: 'JOB-8',
    title: 'an unknown job id is 404 job_not_found',
    run: async (suite) => {
      for (const id of [noUuid, 'not-a-uuid', `chatcmpl-${noUuid}`])
        expectError(await suite.call(`/v1/jobs/${id}`), {
          status: 404,
          code: 'job_not_found',
          type: 'invalid_request_error',
        });
    },
  },
  {
    id: 'JOB-9',
    title: "another account's job is 404 job_not_found",
    needs: ['image', 'other_key'],
    run: async (suite) => {
      const { job } = await asyncImage(suite);
      const answer = await suite.call(`/v1/jobs/${String(job['id'])}`, { key: suite.settings.otherKey });
      expectError(answer, { status: 404, code: 'job_not_found' });
    },
  },
];
