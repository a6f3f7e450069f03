import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import type { MediaFiles } from '../../src/media/media-files.ts';
import { createSweeps, sweepMedia } from '../../src/media/sweeps.ts';
import { createS3Media } from '../../src/media/s3/s3-media.ts';
import { createRecordedLog } from '../limits/recorded-log.ts';
import {
  addAccount,
  finishing,
  idempotencyKey,
  openJob,
  opening,
  reservedMedia,
  resultMedia,
  runningJob,
  start,
  type Owner,
} from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';
import { newMediaId, openDiskFiles, type TestFiles } from './open-test-files.ts';
import { startS3Server } from './s3-server.ts';

const clock = { now: () => start };
const signal = new AbortController().signal;

describe.each(testEngines())('sweeps on $kind', ({ create }) => {
  let test: TestStore;
  let place: TestFiles;
  let owner: Owner;

  beforeAll(async () => {
    test = await create();
    owner = await addAccount(test.store);
  });
  afterAll(async () => test.remove());
  beforeEach(async () => {
    place = await openDiskFiles();
  });
  afterEach(async () => place.remove());

  const sweep = (files: MediaFiles = place.files): Promise<number> =>
    sweepMedia({ store: test.store, files, clock, log: silentLog, signal });

  /** Bytes with a row that no job took. */
  const keep = async (expiresAt: number, files: MediaFiles = place.files): Promise<string> => {
    const id = newMediaId();
    await test.store.reserveMedia(reservedMedia(owner.accountId, { id, expiresAt }));
    await files.write(id, Buffer.from('bytes'), { contentType: 'image/png', signal });
    return id;
  };

  const keepMany = (count: number): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => keep(start - 1_000 + index)));

  const left = (): ReturnType<TestStore['store']['listExpiredMedia']> =>
    test.store.listExpiredMedia({ now: start, limit: 1_000 });

  it('remove the bytes of all expired media, however many, and no others', async () => {
    const lasting = await keep(start + 1);
    await keepMany(130);
    expect(await sweep()).toBe(130);
    expect(await place.contents()).toEqual([lasting]);
    expect(await left()).toEqual([]);
    expect(await sweep()).toBe(0);
  });

  it("keep the rows of a job's media, and delete the rows of media that no job took", async () => {
    const jobId = await openJob(test.store, opening(runningJob(owner)));
    const [taken, untaken] = [await keep(start + 5), await keep(start)];
    const media = {
      id: taken,
      accountId: owner.accountId,
      jobId,
      role: 'image' as const,
      contentType: 'image/png',
      sizeBytes: 5,
      expiresAt: start,
    };
    await test.store.finishJob(finishing(jobId, { media: [media], now: start }));
    expect(await sweep()).toBe(2);
    expect(await test.store.getMedia(taken)).toMatchObject({ jobId, removedAt: start });
    expect(await test.store.getMedia(untaken)).toBeNull();
    expect(await place.contents()).toEqual([]);
  });

  it('do not change the job, its charge and its place in the history', async () => {
    const { accountId } = owner;
    const jobId = await openJob(test.store, opening(runningJob(owner)));
    const id = await keep(start + 5);
    const media = resultMedia({ accountId, jobId }, { id, expiresAt: start });
    await test.store.finishJob(finishing(jobId, { media: [media], charge: 60n, now: start }));
    const records = async () => ({
      job: await test.store.getJob({ id: jobId, accountId }),
      jobs: await test.store.listJobs({ accountId, limit: 10, before: null }),
      entries: await test.store.listEntries({ accountId, limit: 10, before: null }),
      usage: await test.store.sumUsage({ accountId, from: 0, to: start + 1 }),
      account: await test.store.getAccount(accountId),
    });
    const before = await records();
    expect(before.job).toMatchObject({ status: 'done', charged: 60n });
    expect(before.jobs).toContainEqual(expect.objectContaining({ id: jobId }));
    expect(before.entries).toContainEqual(expect.objectContaining({ amount: -60n, jobId }));
    expect(await sweep()).toBe(1);
    expect(await place.contents()).toEqual([]);
    expect(await records()).toEqual(before);
  });

  it('of several processes at once remove everything once', async () => {
    await keepMany(120);
    const another = await test.openAnother();
    const sweeps = [test.store, another, test.store].map((store) =>
      sweepMedia({ store, files: place.files, clock, log: silentLog, signal }),
    );
    await Promise.all(sweeps);
    expect(await place.contents()).toEqual([]);
    expect(await left()).toEqual([]);
  });

  it('continue after a crash between the removal of the bytes and the change of the row', async () => {
    await keepMany(3);
    const crashing = {
      listExpiredMedia: test.store.listExpiredMedia,
      markMediaRemoved: async () => {
        throw new Error('the process died here');
      },
    };
    const died = sweepMedia({ store: crashing, files: place.files, clock, log: silentLog, signal });
    await expect(died).rejects.toThrow('the process died here');
    expect(await place.contents()).toEqual([]);
    expect(await left()).toHaveLength(3);
    expect(await sweep()).toBe(3);
    expect(await left()).toEqual([]);
  });

  it('remove the unfinished file of a write that died', async () => {
    const id = newMediaId();
    await test.store.reserveMedia(reservedMedia(owner.accountId, { id, expiresAt: start }));
    await place.plantLeftover(id, 0);
    expect(await sweep()).toBe(1);
    expect(await place.contents()).toEqual([]);
  });

  it('skip bytes that cannot be removed, log that, and try them again', async () => {
    const ids = await keepMany(115);
    const stuck = ids.slice(0, 104);
    const paths = stuck.map((id) => join(place.files.place, id.slice(0, 2), id));
    // A folder in the place of a file cannot be removed as one.
    for (const path of paths) {
      await rm(path);
      await mkdir(path);
    }
    const { log, lines } = createRecordedLog();
    expect(await sweepMedia({ store: test.store, files: place.files, clock, log, signal })).toBe(11);
    expect(lines).toMatchObject([{ media: 104, msg: 'the bytes of expired media could not be removed' }]);
    expect((await left()).map(({ id }) => id).sort()).toEqual(stuck.sort());
    for (const path of paths) await rm(path, { recursive: true });
    expect(await sweep()).toBe(104);
  });

  it('end soon if the storage does not answer, and continue when it does', async () => {
    const s3 = await startS3Server();
    const files = createS3Media(s3.config, { log: silentLog, spool: s3.spool, limits: { pauseMs: 1 } });
    const ids = Array.from({ length: 40 }, newMediaId);
    for (const id of ids) {
      await test.store.reserveMedia(reservedMedia(owner.accountId, { id, expiresAt: start }));
      await files.write(id, Buffer.from('bytes'), { contentType: 'image/png', signal });
    }
    s3.requests.length = 0;
    s3.intercept = (request) => {
      request.socket.destroy();
      return true;
    };
    expect(await sweep(files)).toBe(0);
    expect(new Set(s3.requests).size).toBe(8 + 1);
    s3.intercept = () => false;
    expect(await sweep(files)).toBe(40);
    expect(await s3.contents()).toEqual([]);
    await files.close();
    await s3.stop();
  });

  it('begin at once, and end when the signal aborts', async () => {
    await keepMany(2);
    await openJob(
      test.store,
      opening(runningJob(owner), { idempotency: idempotencyKey('old', { expiresAt: start - 1 }) }),
    );
    await test.store.noteMadeClip({ digest: 'old', seconds: 4, now: start - 31 * 24 * 3_600_000 });
    await test.store.noteMadeClip({ digest: 'young', seconds: 4, now: start - 29 * 24 * 3_600_000 });
    await place.plantLeftover(newMediaId(), Date.now() - start + 25 * 3_600_000);
    const { log, lines } = createRecordedLog();
    const stop = new AbortController();
    let isSwept = false;
    let isMarked = false;
    const ended = createSweeps({
      store: test.store,
      files: {
        ...place.files,
        usedSince: async () => {
          isMarked = true;
          return start;
        },
      },
      inputFolder: { sweep: async () => Number((isSwept = true)) },
      clock,
      log,
    }).begin(stop.signal);
    await expect.poll(() => isSwept && isMarked).toBe(true);
    const keysLeft = async (): Promise<number> => (await test.sql('select * from idempotency_keys')).length;
    await expect.poll(async () => (await place.contents()).length + (await keysLeft())).toBe(0);
    // Rows are marked after their bytes are gone.
    await expect.poll(left).toEqual([]);
    await expect.poll(() => test.store.findMadeClip('old')).toBeNull();
    expect(await test.store.findMadeClip('young')).toBe(4);
    stop.abort();
    await ended;
    expect(lines.map((line) => (line as { msg: string }).msg).sort()).toEqual([
      `Media are kept in ${place.files.place}.`,
      'expired media were removed',
      'unfinished media were removed',
    ]);
  });

  it('report whether the storage answers, log changes, and never end the process', async () => {
    const { log, lines } = createRecordedLog();
    const broken = await place.openBroken();
    let isBroken = true;
    const stop = new AbortController();
    const sweeps = createSweeps({
      store: test.store,
      files: {
        ...place.files,
        check: (options) => (isBroken ? broken : place.files).check(options),
      },
      inputFolder: { sweep: async () => 0 },
      clock,
      log,
      checkEveryMs: 5,
    });
    expect(sweeps.place()).toBe('unknown');
    const ended = sweeps.begin(stop.signal);
    await expect.poll(() => sweeps.place()).toBe('unavailable');
    isBroken = false;
    await expect.poll(() => sweeps.place()).toBe('ready');
    stop.abort();
    await ended;
    const levels = lines
      .filter((line) => (line as { msg: string }).msg.includes(place.files.place))
      .map((line) => (line as { level: number }).level);
    expect(levels).toEqual([40, 30]);
  });
});
