import type { OpenJobInput } from './store.ts';

/** How long the inputs of a job outlive its deadline at most; its end ends them sooner. */
const afterDeadlineMs = 24 * 3_600_000;

/** What gives a job its inputs: see `attachInputs`. */
export const toAttachment = ({ job, inputs, now }: OpenJobInput) => ({
  jobId: job.id,
  accountId: job.accountId,
  inputs,
  expiresAt: job.deadlineAt + afterDeadlineMs,
  now,
});

/** Throws RangeError when not all inputs could be attached. */
export const assertAllAttached = ({ job, inputs }: OpenJobInput, attached: number): void => {
  if (attached === inputs.length) return;
  throw new RangeError(
    `job ${job.id}: ${inputs.length - attached} of its ${inputs.length} inputs are not there any more`,
  );
};
