import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/kit/log.ts';
import { createOutbound } from '../../src/http/create-outbound.ts';
import { createProviders, type Providers } from '../../src/providers/create-providers.ts';
import type { ServedRoute } from '../../src/providers/route-attempts.ts';
import { collect, contentOf, noAbort, rejectionOf } from './collect.ts';
import { startStubUpstream, type StubUpstream } from './stub-upstream.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((opened) => opened.close()));
});

const startStub = async (): Promise<StubUpstream> => {
  const stub = await startStubUpstream();
  open.push(stub);
  return stub;
};

const create = async (yaml: string | null): Promise<Providers> => {
  const providers = await createProviders(readConfig({ KEY: 'sk-upstream' }, yaml), {
    log: silentLog,
    clock: systemClock,
    outbound: createOutbound({ allowsLoopback: true, userAgent: 'test' }),
    sandboxPieceDelayMs: 0,
  });
  open.push(providers);
  return providers;
};

const ask = async (providers: Providers, sku: string) => {
  const served: ServedRoute[] = [];
  const events = await collect((emit) =>
    providers
      .text(sku)
      .answer(
        { messages: [{ role: 'user', content: 'Hello' }], maxOutputTokens: 100, options: {}, isWhole: false },
        { signal: noAbort(), emit, onRoute: (route) => served.push(route) },
      ),
  );
  return { content: contentOf(events), served };
};

const withUpstream = (stub: StubUpstream, spare = stub): string => `
providers:
  upstream: { type: openai, base_url: "${stub.baseUrl}", api_key_env: KEY }
  spare: { type: openai, base_url: "${spare.baseUrl}" }
models:
  chat-1:
    kind: chat
    price: { unit: token, input_usd_per_1m: 1, output_usd_per_1m: 2 }
    routes: [{ provider: upstream, model: real-model }, { provider: spare }]
  chat-2:
    kind: chat
    price: { unit: call, price_usd: 0.01 }
    routes: [{ provider: upstream, model: real-model }]
  image-1:
    kind: image
    price: { unit: call, price_usd: 0.04 }
    routes: [{ provider: upstream, model: image-model }, { provider: spare }]
`;

describe('the providers of a configuration', () => {
  it('are the sandbox for every default model, and say so', async () => {
    const providers = await create(null);
    await providers.warmUp(noAbort());
    const { content, served } = await ask(providers, 'textmodel-3.5-flash');
    expect(content).toContain('sandbox');
    expect(served).toEqual([{ provider: 'sandbox', model: 'textmodel-3.5-flash', isSandbox: true }]);
    const image = await providers
      .image('imagemodel-1.0')
      .generate({ prompt: 'A fox', aspectRatio: '1:1', inputs: [] }, { signal: noAbort() });
    expect(image).toMatchObject({ contentType: 'image/png' });
  });

  it('look at requests for the gateway where one is named for it', async () => {
    const stub = await startStub();
    stub.script({
      kind: 'raw',
      headers: { 'content-type': 'application/json' },
      chunks: ['{"results":[{"flagged":true}]}'],
    });
    const moderation = 'moderation: { provider: upstream, model: looker }';
    const { moderator } = await create(`${withUpstream(stub)}\n${moderation}\n`);
    const check = moderator?.check({ text: 'A fox', images: [] }, { signal: noAbort() });
    expect(await rejectionOf(check ?? Promise.resolve())).toMatchObject({ code: 'content_policy_violation' });
    expect(stub.requests).toMatchObject([{ path: '/v1/moderations', body: { model: 'looker' } }]);
    expect((await create(withUpstream(stub))).moderator).toBeNull();
  });

  it('are asked with their own name of the model and their key', async () => {
    const stub = await startStub();
    const { content, served } = await ask(await create(withUpstream(stub)), 'chat-1');
    expect(content).toBe('Hello world');
    expect(served).toEqual([{ provider: 'upstream', model: 'real-model', isSandbox: false }]);
    expect(stub.requests[0]).toMatchObject({
      body: { model: 'real-model' },
      headers: { authorization: 'Bearer sk-upstream' },
    });
  });

  it('fall over to the next route', async () => {
    const stub = await startStub();
    stub.setDefault({ kind: 'error', status: 401 });
    const spare = await startStub();
    const providers = await create(withUpstream(stub, spare));
    expect((await ask(providers, 'chat-1')).served).toMatchObject([{ provider: 'spare', isSandbox: false }]);
    spare.setDefault({ kind: 'images', images: [{ b64_json: 'iVBORw0KGgo=' }] });
    const served: ServedRoute[] = [];
    const call = { signal: noAbort(), onRoute: (route: ServedRoute) => served.push(route) };
    await providers.image('image-1').generate({ prompt: 'A fox', aspectRatio: '1:1', inputs: [] }, call);
    expect(served).toMatchObject([{ provider: 'spare', isSandbox: false }]);
  });

  it('make one upstream call for a failure that cannot be repeated, three for one that can', async () => {
    const stub = await startStub();
    const providers = await create(withUpstream(stub));
    stub.setDefault({ kind: 'error', status: 400 });
    await rejectionOf(ask(providers, 'chat-2'));
    expect(stub.requests).toHaveLength(1);
    stub.setDefault({ kind: 'error', status: 500 });
    await rejectionOf(ask(providers, 'chat-2'));
    expect(stub.requests).toHaveLength(4);
  });

  it('share a breaker between SKUs of one upstream model', async () => {
    const stub = await startStub();
    stub.setDefault({ kind: 'error', status: 401 });
    const providers = await create(withUpstream(stub, await startStub()));
    for (let count = 0; count < 10; count += 1) await rejectionOf(ask(providers, 'chat-2'));
    await ask(providers, 'chat-1');
    expect(stub.requests).toHaveLength(10);
    expect(await rejectionOf(ask(providers, 'chat-2'))).toMatchObject({ code: 'upstream_unavailable' });
  });

  it('tell which images and videos a route serves now, and who can be asked for begun videos', async () => {
    const [stub, spare] = [await startStub(), await startStub()];
    const providers = await create(withUpstream(stub, spare));
    const call = () =>
      rejectionOf(
        providers
          .image('image-1')
          .generate({ prompt: 'A fox', aspectRatio: '1:1', inputs: [] }, { signal: noAbort() }),
      );
    const busy = { kind: 'error', status: 429, headers: { 'retry-after': '30' } } as const;
    stub.setDefault(busy);
    spare.setDefault({ kind: 'error', status: 400 });
    await call();
    expect(providers.runnable().skus).toContain('image-1');
    spare.setDefault(busy);
    await call();
    expect(providers.runnable().skus).not.toContain('image-1');
    expect(providers.runnable().providers).toEqual(['sandbox', 'upstream', 'spare']);
  });

  it('refuse a SKU that is not on sale', async () => {
    const providers = await create(null);
    expect(() => providers.text('unknown')).toThrow(
      expect.objectContaining({ code: 'upstream_unavailable' }),
    );
    expect(() => providers.image('textmodel-3.5-flash')).toThrow(
      expect.objectContaining({ code: 'upstream_unavailable' }),
    );
  });
});
