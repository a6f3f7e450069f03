import { expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { createRunVideo } from '../../../src/operations/videos/run-video.ts';
import { ProviderError } from '../../../src/providers/provider-error.ts';
import { newJobRecord } from '../../../src/store/commands/job-table.ts';
import { opening, queuedJob } from '../../store/builders.ts';

const unused = () => {
  throw new Error('no upstream has a task');
};

it.each([
  ['goes back into the queue while every route rests, also when its process ends', true, 'queued'],
  ['fails when an upstream was asked', false, 'failed'],
])('a video that no upstream takes %s', async (_name, everyRouteRests, status) => {
  const ending = new AbortController();
  const run = createRunVideo({
    routesFor: () => ({
      start: () => {
        const error = new ProviderError('no route', { failure: 'retry_other' });
        if (everyRouteRests) ending.abort();
        return Promise.reject(Object.assign(error, { everyRouteRests }));
      },
    }),
    resume: unused,
    costOf: () => null,
    openInput: unused,
    moderator: null,
    saveResult: unused,
    store: { noteMadeClip: unused },
    clock: { now: () => 0 },
    log: silentLog,
  });
  const request = JSON.stringify({ request: {}, inputs: [], priceUsd: '1' });
  const job = newJobRecord(opening(queuedJob({ accountId: 'a', keyId: 'k' }, { kind: 'video', request })));
  const outcome = await run(job, {
    isQueued: true,
    signal: ending.signal,
    emit: () => undefined,
    served: () => undefined,
    record: () => Promise.resolve(),
  });
  expect(outcome).toMatchObject({ status });
});
