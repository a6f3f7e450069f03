import type { Services } from '../call.ts';
import { z } from 'zod';
import { AppError, messages } from '../../kit/errors.ts';
import { isUuid } from '../../kit/ids.ts';
import { toJobId } from '../id-field.ts';
import { type JobServices, toJobAnswer, waitMsField, waitForEnd, jobSchema } from './job-answer.ts';
import { chatJobId, completionExample } from '../chat/chat-examples.ts';
import { doneImage, failedImage, imageJobId } from '../images/image-examples.ts';
import { readOperation } from '../define-operation.ts';

const listedJobs = 20;

const input = z.object({
  job_id: z.string().min(1).max(128).describe('Job id; a chatcmpl- or resp_ id is accepted too.'),
  wait_ms: waitMsField.describe(
    'Wait up to this many milliseconds for the job to end before answering. Default 0.',
  ),
});

export const getJob = readOperation({
  name: 'get_job',
  title: 'Read a job',
  description:
    'State and result of a job of this account, whatever its kind. While status is queued or running, call again ' +
    'with wait_ms. Result URLs of images are in data once status is done. Free.',
  input,
  output: jobSchema,
  path: '/v1/jobs/{job_id}',
  errors: ['job_not_found'],
  names: ({ job_id: id }) => id,
  tool: {
    view: 'job',
    main: ['job_id', 'wait_ms'],
    instruction:
      'Work that takes long answers with a job that is not done: read it with get_job and wait_ms.',
  },
  docs: {
    answer: 'Job',
    description:
      'State and result of a job of this account, whatever its kind. Poll it while status is queued or running. Result ' +
      'URLs of images are in data once status is done. Free.',
    examples: [
      { summary: 'A finished image', parameters: { job_id: imageJobId }, answer: doneImage },
      { summary: 'A refused image', parameters: { job_id: imageJobId }, answer: failedImage },
      {
        summary: 'A finished chat',
        parameters: { job_id: chatJobId },
        answer: {
          ...doneImage,
          id: chatJobId,
          model: 'textmodel-3.5-flash',
          finished_at: '2026-11-20T09:30:01.250Z',
          custom_data: {},
          data: [],
          usage: { cost_usd: '0.0000525', balance_remaining_usd: '24.9599475' },
          response: completionExample,
        },
      },
    ],
    wrong: { job_id: 'x'.repeat(129) },
    mayBeSandbox: true,
  },
  resource: {
    path: 'jobs/{job_id}',
    name: 'job',
    title: 'A job',
    list: async ({ caller: { accountId } }, { store }: Pick<Services, 'store'>) =>
      (await store.listJobs({ accountId, limit: listedJobs, before: null })).map(({ id, kind, status }) => ({
        path: `jobs/${id}`,
        name: id,
        title: `${kind} job, ${status}`,
      })),
  },
  handle: async ({ job_id: publicId, wait_ms: waitMs }, call, services: JobServices) => {
    const id = toJobId(publicId);
    const job = isUuid(id) ? await services.store.getJob({ id, accountId: call.caller.accountId }) : null;
    if (job === null) throw new AppError('job_not_found', messages.job_not_found);
    return toJobAnswer(await waitForEnd({ job, timeoutMs: waitMs ?? 0 }, call, services), 200, services);
  },
});
