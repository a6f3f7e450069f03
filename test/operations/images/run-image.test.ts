import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  createRunImage,
  type ImageJobRequest,
  type RunImageOptions,
} from '../../../src/operations/images/run-image.ts';
import { silentLog } from '../../../src/kit/log.ts';
import type { ImageRequest } from '../../../src/providers/image/image-provider.ts';
import { ProviderError } from '../../../src/providers/provider-error.ts';
import { newJobRecord } from '../../../src/store/commands/job-table.ts';
import type { Job } from '../../../src/store/store.ts';
import { rejectionOf } from '../../providers/collect.ts';
import { opening, queuedJob } from '../../store/builders.ts';

const kept = new Map([
  ['first', Buffer.from('the first picture')],
  ['second', Buffer.alloc(300_000, 'second')],
]);
const inputs = [
  { id: 'second', contentType: 'image/jpeg', sizeBytes: 300_000 },
  { id: 'first', contentType: 'image/png', sizeBytes: 17 },
];

const memoryBytes = 1024 ** 2;

const jobOf = (changes: Partial<ImageJobRequest> = {}): Job => {
  const request: ImageJobRequest = { prompt: 'Warmer', aspectRatio: '4:3', priceUsd: '0.04', ...changes };
  const owner = { accountId: 'account', keyId: 'key' };
  return newJobRecord(opening(queuedJob(owner, { request: JSON.stringify(request) })));
};

const context = {
  signal: new AbortController().signal,
  isQueued: false,
  emit: () => undefined,
  served: () => undefined,
  record: () => Promise.resolve(),
};

type Generate = (request: Omit<ImageRequest, 'model'>) => Promise<Uint8Array>;

const save: RunImageOptions['saveResult'] = async ({ role, contentType, source }) => ({
  id: 'saved',
  role,
  contentType,
  sizeBytes: source instanceof Uint8Array ? source.length : 0,
  url: 'https://cdn.test/results/saved.png',
});

const run = (
  job: Job,
  generate: Generate,
  readInput?: RunImageOptions['readInput'],
  saveResult: RunImageOptions['saveResult'] = save,
) =>
  createRunImage({
    costOf: () => null,
    routesFor: () => ({
      generate: async (request, { onRoute }) => {
        const bytes = await generate(request);
        onRoute?.({ provider: 'up', model: 'm', isSandbox: false });
        return { bytes, contentType: 'image/png', revisedPrompt: 'Much warmer' };
      },
    }),
    // Chunks of a few bytes, as a file has them.
    readInput: readInput ?? (async (id) => Readable.from(cut(kept.get(id) ?? Buffer.alloc(0)))),
    saveResult,
    keepMs: 1_000,
    memoryBytes,
    log: silentLog,
  })(job, context);

const cut = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) =>
    bytes.subarray(index * 65_536, (index + 1) * 65_536),
  );

const made = Buffer.from('made');

describe('an image job', () => {
  it('hands the kept inputs to the provider, whole and in the request’s order', async () => {
    const seen: Omit<ImageRequest, 'model'>[] = [];
    const outcome = await run(jobOf({ inputs }), (request) => {
      seen.push(request);
      return Promise.resolve(made);
    });
    expect(seen).toMatchObject([{ prompt: 'Warmer', aspectRatio: '4:3' }]);
    expect(seen[0]?.inputs.map(({ contentType }) => contentType)).toEqual(['image/jpeg', 'image/png']);
    for (const [index, { id }] of inputs.entries())
      expect(kept.get(id)?.equals(seen[0]?.inputs[index]?.bytes ?? Buffer.alloc(0))).toBe(true);
    expect(outcome).toEqual({
      status: 'done',
      result: [{ url: 'https://cdn.test/results/saved.png', revised_prompt: 'Much warmer' }],
      charge: 40_000_000n,
      cost: null,
      media: [{ id: 'saved', role: 'image', contentType: 'image/png', sizeBytes: 4, keepMs: 1_000 }],
      metadata: { sandbox: false, provider: 'up' },
    });
  });

  it.each([
    ['without inputs', { inputs: [] }],
    ['that an earlier version opened', {}],
  ])('%s is made from its words', async (_name, changes) => {
    const outcome = await run(jobOf(changes), async ({ inputs: given }) => {
      expect(given).toEqual([]);
      return made;
    });
    expect(outcome.status).toBe('done');
  });

  it('is made once and saved again when it could not be saved at first', async () => {
    let calls = 0;
    const saved: unknown[] = [];
    const outcome = await run(
      jobOf(),
      () => {
        calls += 1;
        return Promise.resolve(made);
      },
      undefined,
      (input) => {
        saved.push(input.source);
        return saved.length < 3 ? Promise.reject(new Error('the disk is away')) : save(input);
      },
    );
    expect(outcome).toMatchObject({ status: 'done', charge: 40_000_000n, media: [{ id: 'saved' }] });
    expect([calls, saved]).toEqual([1, [made, made, made]]);
  });

  it('whose inputs are gone is a fault, and asks no provider', async () => {
    let asked = 0;
    const generate: Generate = () => {
      asked += 1;
      return Promise.resolve(made);
    };
    const fault = await rejectionOf(run(jobOf({ inputs }), generate, () => Promise.resolve(null)));
    expect(String(fault)).toMatch(/input (first|second) are gone/);
    expect(asked).toBe(0);
  });

  it('that the provider refuses fails with a public text, uncharged', async () => {
    const outcome = await run(jobOf({ inputs }), () => {
      throw new ProviderError('secret words', { failure: 'fatal', code: 'invalid_parameter' });
    });
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'invalid_parameter' } });
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });

  it('waits for memory while others hold it, and gives it back, also after a failure', async () => {
    const large = [{ id: 'first', contentType: 'image/png', sizeBytes: memoryBytes }];
    const begun: string[] = [];
    const first = Promise.withResolvers<Uint8Array>();
    const firstBegun = Promise.withResolvers<void>();
    const executor = createRunImage({
      costOf: () => null,
      routesFor: () => ({
        generate: async ({ prompt }) => {
          begun.push(prompt);
          if (prompt === 'one') {
            firstBegun.resolve();
            await first.promise;
          }
          throw new ProviderError('no', { failure: 'fatal', code: 'upstream_error' });
        },
      }),
      readInput: () => Promise.resolve(Readable.from([made])),
      saveResult: () => Promise.reject(new Error('nothing is saved')),
      keepMs: 1_000,
      memoryBytes,
      log: silentLog,
    });
    const one = executor(jobOf({ inputs: large, prompt: 'one' }), context);
    const two = executor(jobOf({ inputs, prompt: 'two' }), context);
    const words = executor(jobOf({ prompt: 'words alone' }), context);
    await Promise.all([words, firstBegun.promise]);
    expect(begun.toSorted()).toEqual(['one', 'words alone']);
    first.resolve(made);
    expect(await Promise.all([one, two])).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
    expect(begun).toContain('two');
  });
});
