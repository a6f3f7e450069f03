import type { KeptRequest } from '../../../src/operations/responses/response-object.ts';
import type { Job } from '../../../src/store/store.ts';
import { jobId } from './response-pieces.ts';
import type { TextJobRequest } from '../../../src/operations/chat/text-job.ts';

export const responsesRequest: TextJobRequest & KeptRequest = {
  messages: [{ role: 'user', content: 'Hi' }],
  options: {},
  isWhole: true,
  maxOutputTokens: 100,
  price: { unit: 'call', price: 10_000_000n },
  shown: {
    instructions: 'Be brief.',
    max_output_tokens: 100,
    metadata: { order: '7' },
    parallel_tool_calls: true,
    temperature: 0.5,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
  },
};

/** While it runs. */
export const responsesJob: Job = {
  id: jobId,
  accountId: 'account',
  keyId: 'key',
  kind: 'responses',
  model: 'textmodel-3.5-flash',
  status: 'running',
  leaseOwner: 'me',
  leaseUntil: 0,
  maxAttempts: 1,
  deadlineAt: 0,
  request: JSON.stringify({ shown: responsesRequest.shown }),
  customData: null,
  parameters: JSON.stringify({ max_output_tokens: 100, metadata: { order: '7' } }),
  webhookUrl: null,
  usageTag: null,
  isBudgeted: false,
  progress: 0,
  providerTask: null,
  attempts: 1,
  createdAt: 1_760_000_000_500,
  startedAt: null,
  finishedAt: null,
  result: null,
  error: null,
  metadata: null,
  hold: 0n,
  unpaidBy: null,
  holdState: 'open',
  charged: 0n,
  refunded: 0n,
};
