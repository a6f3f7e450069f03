import { z } from 'zod';
import { AppError, messages } from '../../kit/errors.ts';
import { isUuid } from '../../kit/ids.ts';
import { toJobAnswer, waitLimit, waitMsField, waitWithProgress, jobSchema } from './job-answer.ts';
import { getJobExamples } from './job-examples.ts';
import type { ReadOperation } from '../operation.ts';

const listedJobs = 20;

const input = z.object({
  job_id: z.string().min(1).max(128).describe('Job id; a chatcmpl- or resp_ id is accepted too.'),
  wait_ms: waitMsField.describe(
    'Wait up to this many milliseconds for the job to end before answering. Default 0.',
  ),
});

export const getJob: ReadOperation<z.infer<typeof input>> = {
  name: 'get_job',
  title: 'Read a job',
  description:
    'State and result of a job of this account, whatever its kind. While status is queued or running, call again ' +
    'with wait_ms. Result URLs of images are in data once status is done. Free.',
  group: 'generation',
  sale: null,
  input,
  output: jobSchema,
  rest: {
    method: 'GET',
    path: '/v1/jobs/{job_id}',
    query: [],
    validation: 'envelope',
    errors: ['job_not_found'],
  },
  tool: {
    readOnly: true,
    idempotent: true,
    openWorld: false,
    instruction:
      'Work that takes long answers with a job that is not done: read it with get_job and wait_ms.',
  },
  docs: {
    answer: 'Job',
    description:
      'State and result of a job of this account, whatever its kind. Poll it while status is queued or running. Result ' +
      'URLs of images are in data once status is done. Free.',
    examples: getJobExamples,
    wrong: { job_id: 'x'.repeat(129) },
    headers: {},
    mayBeSandbox: true,
  },
  resource: {
    path: 'jobs/{job_id}',
    name: 'job',
    title: 'A job',
    list: async ({ caller: { accountId } }, { store }) =>
      (await store.listJobs({ accountId, limit: listedJobs, before: null })).map(({ id, kind, status }) => ({
        path: `jobs/${id}`,
        name: id,
        title: `${kind} job, ${status}`,
      })),
  },
  handle: async ({ job_id: publicId, wait_ms: waitMs }, call, services) => {
    const id = publicId.replace(/^(?:chatcmpl-|resp_)/, '').toLowerCase();
    const job = isUuid(id) ? await services.store.getJob({ id, accountId: call.caller.accountId }) : null;
    if (job === null) throw new AppError('job_not_found', messages.job_not_found);
    const timeoutMs = waitLimit(call.transport, waitMs ?? 0);
    return toJobAnswer(await waitWithProgress({ job, timeoutMs }, call, services), 200, services);
  },
};
