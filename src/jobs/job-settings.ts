import { wholeNumber, type VariableValues } from '../kit/settings.ts';

const hourMs = 3_600_000;

export const jobVariables = {
  CHAT_DEADLINE_MS: wholeNumber(1, hourMs, 300_000).describe(
    'how long a chat or Responses request waits for its job',
  ),
  IMAGE_DEADLINE_MS: wholeNumber(1, hourMs, 60_000).describe('how long an image request waits for its job'),
  QUEUED_JOBS_AT_ONCE: wholeNumber(1, 1_000, 16).describe('queued images that one process makes at once'),
  VIDEO_JOBS_AT_ONCE: wholeNumber(1, 10_000, 64).describe('videos that one process watches at once'),
  DRAIN_MS: wholeNumber(0, hourMs, 30_000).describe('how long answers may go on after SIGTERM'),
};

export type JobSettings = ReturnType<typeof readJobSettings>;

export const readJobSettings = (values: VariableValues<typeof jobVariables>) => ({
  chatDeadlineMs: values.CHAT_DEADLINE_MS,
  imageDeadlineMs: values.IMAGE_DEADLINE_MS,
  queuedJobsAtOnce: values.QUEUED_JOBS_AT_ONCE,
  videoJobsAtOnce: values.VIDEO_JOBS_AT_ONCE,
  drainMs: values.DRAIN_MS,
});
