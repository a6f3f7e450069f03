import { describe, expect, it } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import {
  createRetryBudget,
  createRouteBreaker,
  type Route,
  type ServedRoute,
} from '../../src/providers/route-attempts.ts';
import type { GeneratedImage, ImageProvider } from '../../src/providers/image/image-provider.ts';
import { ProviderError, type ProviderErrorOptions } from '../../src/providers/provider-error.ts';
import { createImageRouter, createTextRouter, resumeVideo } from '../../src/providers/router.ts';
import type { TextEvent, TextProvider } from '../../src/providers/text/text-provider.ts';
import type { VideoProvider } from '../../src/providers/video/video-provider.ts';
import { collect, contentOf, noAbort, rejectionOf } from './collect.ts';

const answer: TextEvent[] = [
  { type: 'content', text: 'hi' },
  { type: 'finish', reason: 'stop' },
  {
    type: 'usage',
    usage: { promptTokens: 1, completionTokens: 1, cachedTokens: null, reasoningTokens: null },
  },
];

const failure = (options: ProviderErrorOptions): ProviderError => new ProviderError('test', options);
const overloaded = failure({ failure: 'retry_same', code: 'upstream_error' });
const wrongKey = failure({ failure: 'retry_other', code: 'upstream_unavailable' });
const badRequest = failure({ failure: 'fatal', code: 'invalid_parameter' });
const tooLarge = failure({ failure: 'retry_other', code: 'invalid_parameter' });
const timedOut = failure({ failure: 'ambiguous', code: 'upstream_error' });
const rateLimited = (retryAfterMs?: number): ProviderError =>
  failure({
    failure: 'retry_same',
    code: 'rate_limit_exceeded',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

const request = { messages: [], maxOutputTokens: 10, options: {}, isWhole: false };

type Turn = ProviderError | TextEvent[] | (TextEvent | ProviderError)[];

/** A text provider that plays its turns in order, the last one for ever, and counts its calls. */
const playing = (...turns: Turn[]) => {
  const provider: TextProvider & { calls: string[] } = {
    calls: [],
    answer: async ({ model }, { emit }) => {
      const turn = turns[Math.min(provider.calls.length, turns.length - 1)] ?? [];
      provider.calls.push(model);
      for (const step of Array.isArray(turn) ? turn : [turn]) {
        if (step instanceof ProviderError) throw step;
        emit(step);
      }
    },
  };
  return provider;
};

const setUp = (providers: TextProvider[]) => {
  const clock = { time: 0, now: () => clock.time };
  const pauses: number[] = [];
  const routes: Route<TextProvider>[] = providers.map((source, index) => ({
    provider: `provider-${index}`,
    model: `model-${index}`,
    isSandbox: index === providers.length - 1,
    source,
    breaker: createRouteBreaker(clock),
    budget: createRetryBudget(),
  }));
  const options = {
    clock,
    log: silentLog,
    random: () => 1,
    pause: async (ms: number) => {
      pauses.push(ms);
      clock.time += ms;
    },
  };
  const router = createTextRouter(routes, options);
  const served: ServedRoute[] = [];
  const ask = (signal = noAbort()) =>
    collect((emit) => router.answer(request, { signal, emit, onRoute: (route) => served.push(route) }));
  return { ask, clock, pauses, served, router };
};

describe('a text router', () => {
  it('answers from the first route and says which that was', async () => {
    const first = playing(answer);
    const { ask, served } = setUp([first, playing(answer)]);
    expect(await ask()).toEqual(answer);
    expect(first.calls).toEqual(['model-0']);
    expect(served).toEqual([{ provider: 'provider-0', model: 'model-0', isSandbox: false }]);
  });

  it('asks the same route again after a failure that did nothing, with growing pauses', async () => {
    const only = playing(overloaded, overloaded, answer);
    const { ask, pauses } = setUp([only]);
    expect(contentOf(await ask())).toBe('hi');
    expect(pauses).toEqual([200, 400]);
  });

  it('makes three upstream calls at most', async () => {
    const first = playing(overloaded);
    const second = playing(overloaded);
    const { ask } = setUp([first, second]);
    expect(await rejectionOf(ask())).toBe(overloaded);
    expect([first.calls.length, second.calls.length]).toEqual([2, 1]);
  });

  it('tells in the failure of the last provider how the others failed', async () => {
    const refused = () => failure({ failure: 'retry_other', code: 'upstream_unavailable' });
    const last = failure({ failure: 'fatal', code: 'invalid_parameter' });
    const { ask } = setUp([playing(refused()), playing(refused()), playing(last)]);
    await rejectionOf(ask());
    const unavailable = { code: 'upstream_unavailable', reason: 'test' };
    expect(last.facts()).toEqual({
      provider: 'provider-2',
      model: 'model-2',
      attempts: 3,
      earlier: [
        { provider: 'provider-0', model: 'model-0', ...unavailable },
        { provider: 'provider-1', model: 'model-1', ...unavailable },
      ],
      failure: 'fatal',
      code: 'invalid_parameter',
      reason: 'test',
    });
  });

  it('goes to the next route at once when this one cannot serve the request', async () => {
    const first = playing(wrongKey);
    const { ask, served, pauses } = setUp([first, playing(answer)]);
    expect(contentOf(await ask())).toBe('hi');
    expect(first.calls).toHaveLength(1);
    expect(pauses).toEqual([]);
    expect(served).toEqual([
      { provider: 'provider-1', model: 'model-1', isSandbox: true, failedProviders: ['provider-0'] },
    ]);
  });

  it.each([
    ['a request that is itself at fault', badRequest],
    ['a call that may have been carried out', timedOut],
  ])('never repeats %s', async (_name, error) => {
    const first = playing(error);
    const second = playing(answer);
    const { ask, served } = setUp([first, second]);
    expect(await rejectionOf(ask())).toBe(error);
    expect([first.calls.length, second.calls.length, served.length]).toEqual([1, 0, 0]);
  });

  it('does not fall over once an event has been sent', async () => {
    const first = playing([{ type: 'content', text: 'half' }, overloaded]);
    const second = playing(answer);
    const { router } = setUp([first, second]);
    const seen: TextEvent[] = [];
    const reading = router.answer(request, { signal: noAbort(), emit: (event) => seen.push(event) });
    expect(await rejectionOf(reading)).toBe(overloaded);
    expect(seen).toEqual([{ type: 'content', text: 'half' }]);
    expect(second.calls).toEqual([]);
  });

  it('waits out a short rate limit when there is no other route', async () => {
    const only = playing(rateLimited(700), answer);
    const { ask, pauses } = setUp([only]);
    expect(contentOf(await ask())).toBe('hi');
    expect(pauses).toEqual([705]);
  });

  it('leaves a rate-limited route alone until its time is over', async () => {
    const first = playing(rateLimited(30_000), answer);
    const second = playing(answer);
    const { ask, clock, served } = setUp([first, second]);
    await ask();
    await ask();
    expect([first.calls.length, second.calls.length]).toEqual([1, 2]);
    clock.time += 30_000;
    await ask();
    expect(served.map(({ provider }) => provider)).toEqual(['provider-1', 'provider-1', 'provider-0']);
  });

  it('asks a route again that gave no time with its rate limit, and leaves it when half of its calls fail', async () => {
    const first = playing(rateLimited());
    const { ask, clock } = setUp([first, playing(answer)]);
    for (let count = 0; count < 15; count += 1) await ask();
    expect(first.calls).toHaveLength(10);
    clock.time += 10_000;
    await ask();
    expect(first.calls).toHaveLength(11);
  });

  it('waits a second for the only route when its rate limit has no time', async () => {
    const { ask, pauses } = setUp([playing(rateLimited(), answer)]);
    expect(contentOf(await ask())).toBe('hi');
    expect(pauses).toEqual([1_000]);
  });

  it('answers a long rate limit of the only route with the error itself, and then with the time to wait', async () => {
    const only = playing(rateLimited(30_000));
    const { ask } = setUp([only]);
    expect(await rejectionOf(ask())).toMatchObject({ code: 'rate_limit_exceeded', retryAfterMs: 30_000 });
    expect(await rejectionOf(ask())).toMatchObject({ code: 'upstream_unavailable', retryAfterMs: 30_000 });
    expect(only.calls).toHaveLength(1);
  });

  it('stops asking a route whose breaker has opened', async () => {
    const first = playing(wrongKey);
    const { ask, served } = setUp([first, playing(answer)]);
    for (let count = 0; count < 15; count += 1) await ask();
    expect(first.calls).toHaveLength(10);
    expect(served).toHaveLength(15);
  });

  it('counts an answer that breaks off against its route', async () => {
    const first = playing([{ type: 'content', text: 'half' }, timedOut]);
    const { ask } = setUp([first, playing(answer)]);
    for (let count = 0; count < 5; count += 1) await rejectionOf(ask());
    expect(contentOf(await ask())).toBe('hi');
    expect(first.calls).toHaveLength(5);
  });

  it.each([
    ['bad', badRequest],
    ['too large', tooLarge],
  ])('does not count a request that is %s against a route', async (_name, error) => {
    const only = playing(error);
    const { ask } = setUp([only]);
    for (let count = 0; count < 30; count += 1) expect(await rejectionOf(ask())).toBe(error);
    expect(only.calls).toHaveLength(30);
  });

  it('gives a request that is too large for one route to the next', async () => {
    const { ask } = setUp([playing(tooLarge), playing(answer)]);
    expect(contentOf(await ask())).toBe('hi');
  });

  it('says that it may be repeated where it is too large for the routes that do not rest', async () => {
    const { ask } = setUp([playing(rateLimited(20_000)), playing(tooLarge)]);
    for (const code of ['rate_limit_exceeded', 'upstream_unavailable'])
      expect(await rejectionOf(ask())).toMatchObject({ code, everyRouteRests: true });
  });

  it('says that it may be repeated where it is too large for one route, and another one fails', async () => {
    const { ask } = setUp([playing(timedOut, wrongKey), playing(tooLarge)]);
    await rejectionOf(ask());
    expect(await rejectionOf(ask())).toBe(wrongKey);
  });

  it('rests no longer for a probe that meets a rate limit without a time', async () => {
    const only = playing(wrongKey, ...Array.from({ length: 9 }, () => wrongKey), rateLimited());
    const { ask, clock } = setUp([only]);
    for (let count = 0; count < 10; count += 1) await rejectionOf(ask());
    for (let probe = 0; probe < 2; probe += 1) {
      clock.time += 10_000;
      await rejectionOf(ask());
    }
    expect(only.calls).toHaveLength(12);
  });

  it('stops retrying when the budget is used up', async () => {
    const good = Array.from({ length: 30 }, () => answer);
    const flaky = playing(...good, ...Array.from({ length: 12 }, () => [overloaded, answer]).flat());
    const { ask } = setUp([flaky]);
    for (let count = 0; count < good.length; count += 1) await ask();
    const results: string[] = [];
    for (let count = 0; count < 12; count += 1) results.push(await ask().then(contentOf, () => 'failed'));
    expect(results).toEqual([...Array.from({ length: 11 }, () => 'hi'), 'failed']);
  });

  it('throws the reason of an abort, and asks nobody afterwards', async () => {
    const reason = new Error('the caller has gone');
    const controller = new AbortController();
    const first: TextProvider = {
      answer: async () => {
        controller.abort(reason);
        throw overloaded;
      },
    };
    const second = playing(answer);
    const { ask } = setUp([first, second]);
    expect(await rejectionOf(ask(controller.signal))).toBe(reason);
    expect(second.calls).toEqual([]);
  });

  it('says which route serves before the first event', async () => {
    const { router } = setUp([playing(answer)]);
    const order: string[] = [];
    await router.answer(request, {
      signal: noAbort(),
      onRoute: ({ provider }) => order.push(provider),
      emit: ({ type }) => order.push(type),
    });
    expect(order).toEqual(['provider-0', 'content', 'finish', 'usage']);
  });

  it.each([1, 2])('ends the answer when its reader takes no more than %i events', async (count) => {
    const enough = new RangeError('enough');
    let seen = 0;
    const emit = (): void => {
      seen += 1;
      if (seen === count) throw enough;
    };
    const { router } = setUp([playing(answer), playing(answer)]);
    expect(await rejectionOf(router.answer(request, { signal: noAbort(), emit }))).toBe(enough);
    expect(seen).toBe(count);
  });

  it('is a failure when a provider ends without an event', async () => {
    const { ask } = setUp([playing([])]);
    expect(await rejectionOf(ask())).toMatchObject({ failure: 'ambiguous' });
  });

  it('passes on a fault that is no upstream failure', async () => {
    const fault = new TypeError('a bug');
    const broken: TextProvider = {
      answer: () => Promise.reject(fault),
    };
    const second = playing(answer);
    const { ask } = setUp([broken, second]);
    expect(await rejectionOf(ask())).toBe(fault);
    expect(second.calls).toEqual([]);
  });
});

describe('an image router', () => {
  it('falls over like a text router and says who made the image', async () => {
    const image: GeneratedImage = {
      bytes: new Uint8Array([1]),
      contentType: 'image/png',
      revisedPrompt: null,
    };
    const clock = { now: () => 0 };
    const route = (provider: string, source: ImageProvider): Route<ImageProvider> => ({
      provider,
      model: 'm',
      isSandbox: false,
      source,
      breaker: createRouteBreaker(clock),
      budget: createRetryBudget(),
    });
    const router = createImageRouter(
      [
        route('down', { generate: () => Promise.reject(wrongKey) }),
        route('up', { generate: () => Promise.resolve(image) }),
      ],
      { clock, log: silentLog },
    );
    const served: ServedRoute[] = [];
    const made = await router.generate(
      { prompt: 'fox', aspectRatio: '1:1', inputs: [] },
      { signal: noAbort(), onRoute: (chosen) => served.push(chosen) },
    );
    expect(made).toBe(image);
    expect(served).toEqual([{ provider: 'up', model: 'm', isSandbox: false, failedProviders: ['down'] }]);
  });
});

describe('a begun video', () => {
  it('names its provider in what fails later', async () => {
    const silent: VideoProvider = {
      start: () => Promise.reject(overloaded),
      report: () => Promise.reject(failure({ failure: 'ambiguous' })),
      fetch: () => Promise.reject(failure({ failure: 'ambiguous' })),
    };
    const task = resumeVideo({ provider: 'films', model: 'm', task: 'task' }, silent);
    const asked = { provider: 'films', model: 'm', attempts: 1 };
    expect(await rejectionOf(task.report(noAbort()))).toMatchObject({ asked });
    expect(
      await rejectionOf(task.fetch('video', { request: { outputFormat: 'mp4' }, signal: noAbort() })),
    ).toMatchObject({ asked });
  });
});
