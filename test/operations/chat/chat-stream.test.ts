import { expect, it } from 'vitest';
import { createChatStream } from '../../../src/operations/chat/chat-stream.ts';
import type { Job } from '../../../src/store/store.ts';
import { responsesJob } from '../responses/responses-job.ts';

const job: Job = { ...responsesJob, kind: 'chat' };

it('a chat that goes on after its stream is not called failed, nor uncharged', () => {
  const events = createChatStream(job, { isLegacyCall: false }).end({ ...job, status: 'running' });
  expect(events).toHaveLength(1);
  const { error } = JSON.parse(events[0]?.data ?? '') as { error: { code: string; message: string } };
  expect(error.code).toBe('request_timeout');
  expect(error.message).toContain(`GET /v1/jobs/${job.id}`);
});
