import { z } from 'zod';
import { failedProvidersOf, isSandboxJob, providerOf } from '../jobs/public-job.ts';
import { sanitizeLine } from '../kit/text.ts';
import { count, timeOf, timeOrNullOf, usdOf } from '../operations/answer-fields.ts';
import { idField, toJobId } from '../operations/id-field.ts';
import { jobFilters, jobView as ownView } from '../operations/jobs/list-jobs.ts';
import { defineView, like } from '../operations/view.ts';
import type { Job, JobSummary, Media } from '../store/store.ts';
import { exampleAccountId, limitField, pageField } from './fields.ts';
import { formatTable } from './format-table.ts';
import { readVerb, requireFound, type OperatorServices } from './verb.ts';

const summaryView = defineView<JobSummary>()({
  ...ownView.members,
  account_id: [z.string(), 'accountId', exampleAccountId],
  key_id: [z.string(), 'keyId', '019ab1c2-3d4e-7f60-8a9b-0c1d2e3f4a5b'],
});

export const jobView = defineView<Job>({
  hold_usd: 'The most that it could cost.',
  attempts: 'How often a process began it.',
  provider: 'The provider that made the result.',
  failed_providers: 'The providers that failed before, or all that were asked, in order.',
  sandbox: 'True: a sandbox made the result.',
})({
  ...summaryView.members,
  started_at: timeOrNullOf('startedAt', '2026-11-20T09:30:00.100Z'),
  hold_usd: usdOf('hold', '0.04'),
  attempts: [count, 'attempts', 1],
  max_attempts: [count, 'maxAttempts', 2],
  provider: [z.string().nullable(), (job) => providerOf(job), 'openai'],
  failed_providers: [z.array(z.string()), (job) => failedProvidersOf(job), []],
  sandbox: [z.boolean(), (job) => isSandboxJob(job), false],
});

const mediumView = defineView<Media>({
  id: 'The first eight characters of the name in its address. The whole name opens it without a key.',
})({
  id: [z.string(), ({ id }) => id.slice(0, 8), 'mx6TpW4v'],
  role: [z.string(), 'role', 'image'],
  content_type: [z.string(), 'contentType', 'image/png'],
  size_bytes: [count, 'sizeBytes', 1_482_133],
  expires_at: timeOf('expiresAt', '2026-12-20T09:30:06.412Z'),
  removed_at: timeOrNullOf('removedAt', null),
});

/** Reads a job of any account by its id, or by that of its completion or response. Throws AppError `job_not_found`. */
const findJob = async (id: string, { store }: OperatorServices): Promise<Job> =>
  requireFound(await store.getJobOfAny(toJobId(id)), 'job', id);

const columns = 'id=JOB account_id=ACCOUNT created_at kind model status >charged_usd code=ERROR';

const row = ({ error }: Pick<typeof summaryView.example, 'error'>) => ({ code: error?.code });

export const listJobs = readVerb({
  name: 'list_jobs',
  title: 'List jobs',
  description:
    'The jobs of all accounts, newest first, with what each cost, and never with prompts or results. A page looks at ' +
    '10,000 jobs at most, so a search for rare ones may answer few, and still has a next page.',
  path: '/jobs',
  fields: {
    account_id: idField.optional().describe('Only those of this account.'),
    ...jobFilters,
    status: jobFilters.status.describe('In this state.'),
    limit: limitField(1_000, 100),
    after: pageField('job').describe('The `next_after` of the page before.'),
  },
  output: z.strictObject({
    jobs: z.array(summaryView.schema),
    has_more: z.boolean(),
    next_after: like(z.string().nullable(), null),
  }),
  answer: 'JobPage',
  example: { status: 'failed', kind: 'image', limit: 100 },
  errors: ['account_not_found', 'job_not_found'],
  command: {
    usage:
      'jobs list [--account <account>] [--status <status>] [--kind <kind>] [--model <sku>] [--key <key>] [--tag <tag>] ' +
      '[--from <time>] [--to <time>] [--limit <count>] [--after <job>]',
    examples: [
      `--account ${exampleAccountId} --from 2026-11-20`,
      `--status failed --json | jq -r '.jobs[] | [.id, .error.code] | @tsv'`,
    ],
    table: { columns, row, none: 'There are no such jobs.' },
  },
  handle: async ({ account_id: accountId, key_id: keyId, tag: usageTag, after, ...search }, services) => {
    const { store } = services;
    if (accountId !== undefined) requireFound(await store.getAccount(accountId), 'account', accountId);
    const before = after === undefined ? null : await findJob(after, services);
    const { jobs, next } = await store.searchJobs({ ...search, accountId, keyId, usageTag, before });
    return {
      jobs: jobs.map((job) => summaryView.show(job)),
      has_more: next !== null,
      next_after: next?.id ?? null,
    };
  },
});

const shownJob = z.strictObject({
  job: jobView.schema,
  payment: like(z.string().nullable().describe('The identity of the payment that paid for it.'), null),
  results: z.array(mediumView.schema),
});

const writeJob = ({ job, payment, results }: z.output<typeof shownJob>): string => {
  const { provider, failed_providers: failed, error } = job;
  return [
    formatTable(columns, [{ ...job, ...row(job) }]),
    [
      `Key ${job.key_id}`,
      `Held ${job.hold_usd}, charged ${job.charged_usd}, refunded ${job.refunded_usd} USD (${job.billing_status})`,
      ...(payment === null ? [] : [`Paid by ${payment}`]),
      `Began ${job.attempts} of at most ${job.max_attempts} times`,
      ...(failed.length === 0 ? [] : [`Failed: ${failed.join(', ')}`]),
      ...(provider === null ? [] : [`Made by: ${provider}`]),
      ...(error === null ? [] : [sanitizeLine(`${error.code}: ${error.message}`)]),
    ].join('\n'),
    ...(results.length === 0
      ? []
      : [formatTable('id=RESULT role content_type >size_bytes expires_at removed_at', results)]),
  ].join('\n\n');
};

export const getJob = readVerb({
  name: 'get_job',
  title: 'Read a job',
  description:
    'One job with its hold, charge, providers and error, and the sizes of its results. Prompts and results are not shown.',
  path: '/jobs/{job_id}',
  fields: { job_id: idField.describe('The id of the job; a chatcmpl- or resp_ id is accepted too.') },
  output: shownJob,
  answer: 'JobAnswer',
  example: { job_id: jobView.example.id },
  errors: ['job_not_found'],
  command: { usage: 'jobs show <job>', more: 'Its webhook: "webhooks list --job".', show: writeJob },
  handle: async ({ job_id: given }, services) => {
    const job = await findJob(given, services);
    const [payment, media] = await Promise.all([
      services.store.findPaymentOfJob(job.id),
      services.store.listMedia(job.id),
    ]);
    return {
      job: jobView.show(job),
      payment: payment?.identity ?? null,
      results: media.filter(({ role }) => role !== 'input').map((medium) => mediumView.show(medium)),
    };
  },
});
