import { z } from 'zod';
import { AppError, wrongField } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import { isSandboxJob } from '../../jobs/public-job.ts';
import {
  asJson,
  readResponse,
  jobIdOfResponse,
  responseId,
  responseIdHeader,
  responseIdPattern,
} from './response-object.ts';
import { type JobServices, waitMsField, waitForEnd, billHeaders } from '../jobs/job-answer.ts';
import { getResponseExamples } from './response-examples.ts';
import { jsonAnswer } from '../answer.ts';
import { responseSchema } from './response-schema.ts';
import { readOperation } from '../define-operation.ts';

const input = z.object({
  response_id: z
    .string()
    .regex(responseIdPattern, 'must be resp_ followed by a UUID')
    .describe('resp_ and the job id.'),
  wait_ms: waitMsField.describe('As in get_job.'),
});

export const getResponse = readOperation({
  name: 'get_response',
  title: 'Read a response',
  description:
    'A response of this account. While status is in_progress, call again with wait_ms. A failed one has error. Free.',
  sells: 'chat',
  input,
  output: responseSchema,
  path: '/v1/responses/{response_id}',
  validation: 'both',
  errors: ['response_not_found', 'payment_in_progress'],
  names: ({ response_id: id }) => id,
  docs: {
    answer: 'Response',
    description:
      'A response of this account. Poll it while status is in_progress. A failed one has error. Free.',
    examples: getResponseExamples,
    wrong: { response_id: 'none' },
    headers: responseIdHeader,
    mayBeSandbox: true,
  },
  handle: async ({ response_id: publicId, wait_ms: waitMs }, call, services: JobServices) => {
    const id = jobIdOfResponse(publicId);
    const job = id === null ? null : await services.store.getJob({ id, accountId: call.caller.accountId });
    if (job === null || job.kind !== 'responses')
      throw wrongField(
        'response_not_found',
        'response_id',
        'This account has no response with that id. Check the id.',
      );
    const latest = await waitForEnd({ job, timeoutMs: waitMs ?? 0 }, call, services);
    if (latest.status === 'done' && latest.unpaidBy !== null)
      throw new AppError(
        'payment_in_progress',
        'The payment of this response is not settled, so its answer is withheld. If the payment failed, the account owes ' +
          `$${formatUsd(latest.charged)} for it. The next payment to the account settles this debt if the balance was at ` +
          'least as much before it.',
      );
    return jsonAnswer(asJson(readResponse(latest)), {
      headers: {
        'cache-control': 'no-store',
        'x-response-id': responseId(job.id),
        ...billHeaders(latest, services.config),
      },
      isSandbox: isSandboxJob(latest),
    });
  },
});
