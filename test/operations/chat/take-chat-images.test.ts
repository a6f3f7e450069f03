import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { FetchInput } from '../../../src/media/fetch-input.ts';
import { unboundedMemory, type RequestMemory } from '../../../src/limits/request-memory.ts';
import { takeChatImages } from '../../../src/operations/chat/take-chat-images.ts';
import { noAbort, rejectionOf } from '../../providers/collect.ts';

const megabyte = 1024 ** 2;

const asking = (urls: string[]) => [
  {
    role: 'user' as const,
    content: urls.map((url) => ({ type: 'image_url' as const, image_url: { url } })),
  },
];
const urls = (count: number) => Array.from({ length: count }, (_, index) => `https://example.com/${index}`);

const refusal = (param: string, words: string): unknown =>
  expect.objectContaining({ code: 'invalid_parameter', param, message: expect.stringContaining(words) });

const param = (index: number): string => `messages.0.content.${index}.image_url.url`;

/** As a host that never answers: ends by the signal alone. */
const never: FetchInput = (_url, { signal }) =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );

const sized =
  (bytes: number): FetchInput =>
  (_url, _options, use) =>
    use({ contentType: 'image/png', bytes: new Uint8Array(bytes) });

const callWith = (signal: AbortSignal, memory: RequestMemory = unboundedMemory) => ({
  signal,
  memory,
  caller: { accountId: 'account' },
});

describe('taking the images of a chat', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('ends after 30 seconds for all of them together, and names the first that is missing', async () => {
    const fetchInput: FetchInput = (url, options, use) =>
      (url.endsWith('/0') ? sized(1) : never)(url, options, use);
    const refused = rejectionOf(takeChatImages(asking(urls(9)), callWith(noAbort()), { fetchInput }));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await refused).toEqual(refusal(param(1), 'not there in time'));
  });

  it('ends with the client, by its reason', async () => {
    const client = new AbortController();
    const ended = rejectionOf(
      takeChatImages(asking(urls(2)), callWith(client.signal), { fetchInput: never }),
    );
    const reason = new Error('gone');
    client.abort(reason);
    expect(await ended).toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('takes memory for their bytes as they go upstream, and ends when there is none', async () => {
    const takes: number[] = [];
    const take = (bytes: number): Promise<void> => {
      takes.push(bytes);
      return takes.length < 3 ? Promise.resolve() : Promise.reject(new AppError('overloaded', 'Later.'));
    };
    const call = callWith(noAbort(), { ...unboundedMemory, take });
    const fetchInput = sized(1_000);
    await takeChatImages(asking(urls(2)), call, { fetchInput });
    const refused = takeChatImages(asking(urls(1)), call, { fetchInput });
    expect(await rejectionOf(refused)).toMatchObject({ code: 'overloaded' });
    expect(takes).toEqual([4_000, 4_000, 4_000]);
  });

  it('fetches four at a time', async () => {
    let now = 0;
    let most = 0;
    const fetchInput: FetchInput = async (url, options, use) => {
      now += 1;
      most = Math.max(most, now);
      await Promise.resolve();
      now -= 1;
      return sized(1)(url, options, use);
    };
    await takeChatImages(asking(urls(20)), callWith(noAbort()), { fetchInput });
    expect(most).toBe(4);
  });

  it('refuses more than 48 MB together', async () => {
    const fetchInput = sized(16 * megabyte);
    const refused = takeChatImages(asking(urls(4)), callWith(noAbort()), { fetchInput });
    expect(await rejectionOf(refused)).toEqual(refusal(param(3), 'above 48 MB together'));
    expect(await takeChatImages(asking(urls(3)), callWith(noAbort()), { fetchInput })).toHaveLength(1);
  });
});
